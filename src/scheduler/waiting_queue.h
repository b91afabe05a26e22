// Who waits to run, and whose turn is next.
//
//   - Owners take turns: next is the one for whom the fewest rows were computed lately. An owner
//     who comes when others wait starts where the least served of them is, so that idle times earn
//     nothing. (The virtual token counter of Sheng et al., "Fairness in Serving Large Language
//     Models", OSDI 2024, 4.)
//   - Among one owner's sequences, and between owners who are equal, rank decides.
//
// Next and Insert are O(owners), the rest O(log waiting).
#ifndef FOLIO_SCHEDULER_WAITING_QUEUE_H_
#define FOLIO_SCHEDULER_WAITING_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "scheduler/sequence.h"

namespace folio {

struct ByRank {
  bool operator()(const Sequence* a, const Sequence* b) const { return a->rank() < b->rank(); }
};

class WaitingQueue {
 public:
  void Insert(Sequence& sequence);
  void Erase(Sequence& sequence);
  // Null if nobody waits.
  Sequence* Next() const;
  // So many rows are computed for the owner.
  void Charge(std::uint64_t owner, std::int64_t rows) { owners_[owner].served += rows; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // In the order in which they would run if nobody came.
  std::vector<const Sequence*> InOrder() const;

 private:
  struct Owner {
    std::int64_t served = 0;  // rows, and what was skipped while it had nothing to do
    std::set<Sequence*, ByRank> waiting;
  };
  std::int64_t Level() const;
  void ForgetIdle();

  std::unordered_map<std::uint64_t, Owner> owners_;
  std::size_t size_ = 0;
  std::int64_t last_level_ = 0;  // of the owner who was the last to wait
};

}  // namespace folio

#endif  // FOLIO_SCHEDULER_WAITING_QUEUE_H_
