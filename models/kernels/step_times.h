// Times and accounts of steps that come again and again, as simulations look them up.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/kernels/step_account.h"
#include "models/kernels/step_time.h"

namespace kvsim::models {

/// Times of a timer's steps, of which the parts that come again and again are worked out once.
class StepTimes {
 public:
  /// The timer outlives it.
  explicit StepTimes(const StepTimer& timer) : timer_(timer) {}

  /// StepTimer::time().
  [[nodiscard]] StepTime time(const StepWork& work) { return time(work, of(work)); }
  [[nodiscard]] StepTime time(const StepWork& work, const TokenTime& by_tokens) {
    return timer_.time(work, by_tokens, &lengths_);
  }

  /// The account of the step's time. Valid until the next call.
  [[nodiscard]] const StepAccount& account(const StepWork& work) {
    if (!accounts_) accounts_.emplace(timer_);
    return accounts_->of(work);
  }

  /// StepTimer::token_time().
  const TokenTime& of(const StepWork& work) {
    const double tokens = work.tokens(), of_rank = timer_.tokens_of_rank(work);
    Known& known = known_[static_cast<std::size_t>(tokens) % kKept];
    if (known.tokens != tokens || known.of_rank != of_rank || known.logit_tokens != work.logit_tokens ||
        known.sampled != work.sampled) {
      known = {tokens, of_rank, work.logit_tokens, work.sampled, timer_.token_time(work)};
    }
    return known.time;
  }

 private:
  static constexpr std::size_t kKept = 64;
  struct Known {
    double tokens = 0, of_rank = 0, logit_tokens = 0, sampled = 0;
    TokenTime time;  // of a step without tokens
  };

  const StepTimer& timer_;
  std::vector<Known> known_ = std::vector<Known>(kKept);  // by tokens
  KnownLengths lengths_;
  std::optional<StepAccounts> accounts_;  // none: nobody asked yet
};

}  // namespace kvsim::models
