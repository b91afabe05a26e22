#include "kvcache/prompt_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace folio {
namespace {

// A node, its entry in its parent's map and what the allocator adds to its pieces.
constexpr std::size_t kNodeBytes = sizeof(PromptNode) + 128;

std::size_t BytesOf(const PromptNode& node) {
  return kNodeBytes + node.tokens.capacity() * sizeof(std::int32_t) +
         node.fingerprints.capacity() * sizeof(std::uint64_t);
}

// Copies without spare room.
template <typename T>
std::vector<T> Joined(std::span<const T> first, std::span<const T> second) {
  std::vector<T> joined;
  joined.reserve(first.size() + second.size());
  joined.insert(joined.end(), first.begin(), first.end());
  joined.insert(joined.end(), second.begin(), second.end());
  return joined;
}

}  // namespace

std::uint64_t Fingerprint(const BlockHash& hash) {
  std::uint64_t fingerprint = 0;
  std::memcpy(&fingerprint, hash.data(), sizeof(fingerprint));
  return fingerprint;
}

// Not by the nodes' own destructors, one inside the other: a tree may be as deep as a prompt is
// long.
PromptTree::~PromptTree() {
  std::vector<std::unique_ptr<PromptNode>> nodes;
  const auto take_children = [&nodes](PromptNode& node) {
    for (auto& [token, child] : node.children) nodes.push_back(std::move(child));
  };
  take_children(root_);
  while (!nodes.empty()) {
    const std::unique_ptr<PromptNode> node = std::move(nodes.back());
    nodes.pop_back();
    take_children(*node);
  }
}

std::size_t PromptTree::BytesFor(std::size_t tokens, std::size_t block_size) {
  return 2 * kNodeBytes + tokens * sizeof(std::int32_t) +
         (tokens / block_size + 1) * sizeof(std::uint64_t);
}

PromptTree::Match PromptTree::Find(std::span<const std::int32_t> tokens) const {
  // Only the owner of the tree, which may change it, gets a node to change.
  auto* node = const_cast<PromptNode*>(&root_);
  std::size_t length = 0;
  while (length < tokens.size()) {
    const auto child = node->children.find(tokens[length]);
    if (child == node->children.end()) break;
    node = child->second.get();
    const std::span<const std::int32_t> rest = tokens.subspan(length);
    const auto equal =
        std::mismatch(rest.begin(), rest.end(), node->tokens.begin(), node->tokens.end());
    length += static_cast<std::size_t>(equal.first - rest.begin());
    if (equal.second != node->tokens.end()) break;
  }
  return {node, length};
}

std::uint64_t PromptTree::FingerprintAt(const PromptNode* node, std::size_t end) const {
  while (node->begin >= end) node = node->parent;
  return node->fingerprints[end / block_size_ - node->begin / block_size_ - 1];
}

void PromptTree::SetFingerprints(PromptNode& node, const PromptTokens& prompt) const {
  const std::size_t first = node.begin / block_size_;
  for (std::size_t i = 0; i < node.fingerprints.size(); ++i) {
    if (first + i < prompt.hashes.size()) {
      node.fingerprints[i] = Fingerprint(prompt.hashes[first + i]);
    }
  }
}

PromptNode* PromptTree::Split(PromptNode* node, std::size_t at) {
  const std::size_t cut = at - node->begin;
  const std::size_t blocks = at / block_size_ - node->begin / block_size_;
  PromptNode* parent = node->parent;
  bytes_ -= BytesOf(*node);
  auto first = std::make_unique<PromptNode>();
  const std::span<const std::int32_t> tokens = node->tokens;
  const std::span<const std::uint64_t> fingerprints = node->fingerprints;
  first->parent = parent;
  first->begin = node->begin;
  first->tokens = Joined(tokens.first(cut), {});
  first->fingerprints = Joined(fingerprints.first(blocks), {});
  first->uses = node->uses;
  first->newest = node->newest;
  node->tokens = Joined(tokens.subspan(cut), {});
  node->fingerprints = Joined(fingerprints.subspan(blocks), {});
  node->begin = at;
  node->parent = first.get();
  std::unique_ptr<PromptNode>& place = parent->children[first->tokens.front()];
  first->children.emplace(node->tokens.front(), std::move(place));
  place = std::move(first);
  bytes_ += BytesOf(*place) + BytesOf(*node);
  return place.get();
}

PromptNode* PromptTree::Add(Match match, const PromptTokens& prompt, const PromptRecord* record) {
  PromptNode* last = match.node;
  if (match.length < last->end()) last = Split(last, match.length);
  for (PromptNode* node = last; node != &root_; node = node->parent) {
    ++node->uses;
    node->newest = record;
    SetFingerprints(*node, prompt);
  }
  return last;
}

PromptNode* PromptTree::Extend(PromptNode* last, const PromptTokens& prompt,
                               const PromptRecord* record) {
  auto node = std::make_unique<PromptNode>();
  node->parent = last;
  node->begin = last->end();
  node->tokens = Joined(prompt.tokens.subspan(node->begin), {});
  node->fingerprints.resize(node->end() / block_size_ - node->begin / block_size_);
  SetFingerprints(*node, prompt);
  node->uses = 1;
  node->newest = record;
  bytes_ += BytesOf(*node);
  PromptNode* added = node.get();
  last->children.emplace(node->tokens.front(), std::move(node));
  MergeIfPlain(last);
  return added;
}

void PromptTree::Remove(PromptNode* last) {
  for (PromptNode* node = last; node != &root_; node = node->parent) --node->uses;
  while (last != &root_ && last->uses == 0) {
    PromptNode* parent = last->parent;
    bytes_ -= BytesOf(*last);
    parent->children.erase(last->tokens.front());
    last = parent;
  }
  MergeIfPlain(last);
}

void PromptTree::MergeIfPlain(PromptNode* node) {
  if (node == &root_ || node->children.size() != 1) return;
  std::unique_ptr<PromptNode>& only = node->children.begin()->second;
  if (only->uses != node->uses) return;
  // The child stays, since sequences know it as the node that they end with.
  std::unique_ptr<PromptNode> child = std::move(only);
  bytes_ -= BytesOf(*node) + BytesOf(*child);
  child->tokens = Joined<std::int32_t>(node->tokens, child->tokens);
  child->fingerprints = Joined<std::uint64_t>(node->fingerprints, child->fingerprints);
  child->begin = node->begin;
  child->parent = node->parent;
  bytes_ += BytesOf(*child);
  std::unique_ptr<PromptNode>& place = child->parent->children[child->tokens.front()];
  place = std::move(child);
}

}  // namespace folio
