#include "kvcache/kv_storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/aligned_buffer.h"
#include "kvcache/commit_pages.h"

namespace folio {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::size_t kSlab = KvStorage::kSlabBytes;

KvLayout BlocksOf(std::size_t bytes) {
  KvLayout layout;
  layout.block_bytes = bytes;
  return layout;
}

// Which slabs were asked for, and with how many bytes; fails while `error` is set.
struct Committer {
  int operator()(std::byte* data, std::size_t bytes) {
    if (*error != 0) return *error;
    calls->emplace_back(data, bytes);
    return 0;
  }
  int* error;
  std::vector<std::pair<std::byte*, std::size_t>>* calls;
};

std::size_t ResidentPages(const std::byte* data, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(mincore(const_cast<std::byte*>(data), bytes, pages.data()), 0);
  std::size_t resident = 0;
  for (const unsigned char in_core : pages) resident += in_core & 1U;
  return resident;
}

TEST(KvStorageTest, CreatingCommitsNothing) {
  // More than the machine has: only address space is taken.
  Result<KvStorage> storage = KvStorage::Create(BlocksOf(std::size_t{1} << 30), 256);
  ASSERT_TRUE(storage.has_value()) << storage.error().Message();
  EXPECT_EQ(storage->committed_bytes(), 0U);
  EXPECT_EQ(storage->size(), std::size_t{1} << 38);
  EXPECT_EQ(ResidentPages(storage->data(), 4 * kSlab), 0U);
}

TEST(KvStorageTest, CommittingABlockMakesItsSlabResidentAndNoOther) {
  Result<KvStorage> storage = KvStorage::Create(BlocksOf(kSlab / 4), 16);
  ASSERT_TRUE(storage.has_value());
  ASSERT_TRUE(storage->Commit(5).has_value());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(storage->committed_bytes(), kSlab);
  EXPECT_EQ(ResidentPages(storage->data(), kSlab), 0U);
  EXPECT_EQ(ResidentPages(storage->data() + kSlab, kSlab), kSlab / page);
  EXPECT_EQ(ResidentPages(storage->data() + 2 * kSlab, 2 * kSlab), 0U);
}

TEST(KvStorageTest, AKernelThatCannotPopulateHasThePagesWritten) {
  constexpr int kUnknownAdvice = 9999;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Result<AlignedBuffer> memory = AlignedBuffer::Create(4 * kSlab, "test");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(CommitPages(memory->data() + kSlab, kSlab, kUnknownAdvice), 0);
  EXPECT_EQ(ResidentPages(memory->data() + kSlab, kSlab), kSlab / page);
  EXPECT_EQ(ResidentPages(memory->data() + 2 * kSlab, kSlab), 0U);
}

TEST(KvStorageTest, MemoryThatIsNotMappedIsAnErrno) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  munmap(mapped, page);
  EXPECT_NE(CommitPages(static_cast<std::byte*>(mapped), page), 0);
}

TEST(KvStorageTest, ASlabIsCommittedOnceAndABlockAcrossTwoCommitsBoth) {
  int error = 0;
  std::vector<std::pair<std::byte*, std::size_t>> calls;
  Result<KvStorage> storage =
      KvStorage::Create(BlocksOf(kSlab * 3 / 4), 4, Committer{&error, &calls});
  ASSERT_TRUE(storage.has_value());
  std::byte* const data = storage->data();
  ASSERT_TRUE(storage->Commit(0).has_value());
  EXPECT_THAT(calls, ElementsAre(Pair(data, kSlab)));
  ASSERT_TRUE(storage->Commit(1).has_value());  // bytes 0.75 to 1.5 slabs
  ASSERT_TRUE(storage->Commit(1).has_value());
  EXPECT_THAT(calls, ElementsAre(Pair(data, kSlab), Pair(data + kSlab, kSlab)));
  EXPECT_EQ(storage->committed_bytes(), 2 * kSlab);
}

TEST(KvStorageTest, TheLastSlabEndsWithTheArena) {
  int error = 0;
  std::vector<std::pair<std::byte*, std::size_t>> calls;
  Result<KvStorage> storage = KvStorage::Create(BlocksOf(64), 5, Committer{&error, &calls});
  ASSERT_TRUE(storage.has_value());
  ASSERT_TRUE(storage->Commit(4).has_value());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_THAT(calls, ElementsAre(Pair(storage->data(), page)));
}

TEST(KvStorageTest, ALackOfMemoryIsAnErrorAndMayBeTriedAgain) {
  int error = 0;
  std::vector<std::pair<std::byte*, std::size_t>> calls;
  Result<KvStorage> storage = KvStorage::Create(BlocksOf(kSlab), 4, Committer{&error, &calls});
  ASSERT_TRUE(storage.has_value());
  ASSERT_TRUE(storage->Commit(0).has_value());
  error = ENOMEM;
  const Status refused = storage->Commit(1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().Message(),
            "KV cache: memory: the system gives no more than 2097152 of 8388608 bytes: Cannot "
            "allocate memory");
  EXPECT_TRUE(storage->Commit(0).has_value());  // what is there stays
  EXPECT_EQ(storage->committed_bytes(), kSlab);
  error = 0;
  EXPECT_TRUE(storage->Commit(1).has_value());
  EXPECT_EQ(storage->committed_bytes(), 2 * kSlab);
}

TEST(KvStorageTest, CopyTakesTheWholeBlockAndNothingElse) {
  Result<KvStorage> storage = KvStorage::Create(BlocksOf(4096), 3);
  ASSERT_TRUE(storage.has_value());
  for (const BlockId id : {0, 1, 2}) ASSERT_TRUE(storage->Commit(id).has_value());
  std::memset(storage->data(), 1, 4096);
  std::memset(storage->data() + 4096, 2, 4096);
  std::memset(storage->data() + 8192, 3, 4096);
  storage->Copy(2, 1);
  const std::vector<std::byte> expected(4096, std::byte{3});
  EXPECT_EQ(std::memcmp(storage->data() + 4096, expected.data(), 4096), 0);
  EXPECT_EQ(storage->data()[4095], std::byte{1});
  EXPECT_EQ(storage->data()[8192], std::byte{3});
}

TEST(KvStorageTest, SizesThatCannotBeReservedAreErrors) {
  EXPECT_FALSE(KvStorage::Create(BlocksOf(64), 0).has_value());
  EXPECT_FALSE(KvStorage::Create(BlocksOf(64), -1).has_value());
  EXPECT_FALSE(
      KvStorage::Create(BlocksOf(std::size_t{1} << 40), std::int64_t{1} << 30).has_value());
  EXPECT_FALSE(KvStorage::Create(BlocksOf(std::size_t{1} << 40), 1 << 20).has_value());
}

}  // namespace
}  // namespace folio
