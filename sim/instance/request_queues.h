// The places of an instance's requests: waiting, or admitted and loading, prefilling or decoding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/request.h"

namespace kvsim::serving {

class RequestQueues {
 public:
  // Waiting, the next one first.
  void arrive(Request& r);
  [[nodiscard]] bool anybody_waits() const { return !queue_.empty(); }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size()); }
  /// Precondition: anybody_waits().
  [[nodiscard]] Request& next() const { return *queue_.front(); }

  /// Whether a condition holds of all who wait, the next one first.
  template <class Condition>
  [[nodiscard]] bool all_waiting(Condition&& holds) const {
    return std::all_of(queue_.begin(), queue_.end(), [&holds](const Request* r) { return holds(*r); });
  }

  /// The next one is admitted. It has a place once it was moved somewhere.
  void admit_next();
  /// To Phase::loading, prefilling or decoding.
  void move(Request& r, Phase phase);
  /// A request admitted elsewhere takes part here from now on, as the newest, in Phase::prefilling or decoding.
  void join(Request& r, Phase phase);
  /// It takes no part any more.
  void part(const Request& r);
  /// An admitted one waits again, before all others.
  void push_out(Request& r);
  /// An admitted one is over.
  void leave(const Request& r);

  // In order of admission.
  [[nodiscard]] const std::vector<Request*>& decoding() const { return decoding_; }
  [[nodiscard]] const std::vector<Request*>& prefilling() const { return prefilling_; }
  [[nodiscard]] const std::vector<Request*>& loading() const { return loading_; }

  /// Grows with every change of these lists.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  // Admitted and not over.
  [[nodiscard]] std::int64_t running() const {
    return static_cast<std::int64_t>(decoding_.size() + prefilling_.size() + loading_.size());
  }
  [[nodiscard]] std::int64_t resident() const { return resident_; }
  [[nodiscard]] std::int64_t offloaded() const { return running() - resident_; }
  /// The one that was admitted last. Precondition: running() > 0.
  [[nodiscard]] Request& newest() const;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto* list : {&decoding_, &prefilling_, &loading_}) {
      for (Request* r : *list) visit(*r);
    }
  }

 private:
  [[nodiscard]] std::vector<Request*>& list_of(Phase phase);

  std::deque<Request*> queue_;
  std::vector<Request*> decoding_, prefilling_, loading_;
  std::uint64_t admissions_ = 0, changes_ = 0;
  std::int64_t resident_ = 0;
};

}  // namespace kvsim::serving
