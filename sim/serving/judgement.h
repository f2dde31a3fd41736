// Judges requests one by one against the latency objectives, the unfinished too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/time.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// Keeps Measurements::verdicts. A replica writes the verdict of a request that finishes; all others are this class's.
/// What it is given must outlive it.
class Judgement {
 public:
  Judgement(const ServingConfig& config, const std::vector<std::unique_ptr<Request>>& requests, Measurements& measured)
      : config_(config), requests_(requests), measured_(measured) {}

  /// A request has arrived, after the warm-up. It is judged if that is early enough (RunConfig::judge_until_s).
  void arrived(Request& request, engine::SimTime now);
  void refused(const Request& request);

  /// Whether every judged request is decided and none can join: nothing that can still happen changes a verdict. Never
  /// where none is judged.
  [[nodiscard]] bool over(engine::SimTime now);

  /// Whether more judged requests than RunConfig::most_misses have certainly missed.
  [[nodiscard]] bool hopeless(engine::SimTime now);

  /// The run ends: whoever has not finished gets the verdict that is certain by now.
  void close(engine::SimTime now);

 private:
  template <class Use>
  void for_each_open(const Use& use);

  const ServingConfig& config_;
  const std::vector<std::unique_ptr<Request>>& requests_;  // by id
  Measurements& measured_;
  std::size_t first_open_ = 0;  // no request before this one is unfinished
};

}  // namespace kvsim::serving
