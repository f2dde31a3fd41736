// Results that stand beside each other: which of them compete, and in what they are even.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/results/outcome.h"

namespace kvsim::results {

/// Conditions on a row that is compared.
struct Competitor {
  bool lossless = false;
  bool served = true;        ///< emitted tokens: without that it competes in no column
  bool all_finished = true;  ///< refused nothing, at least half of the requests finished, and in a steady state
};

[[nodiscard]] std::vector<Competitor> competitors_of(const std::vector<Outcome>& outcomes);

/// A Rival is one of several results that stand beside each other, as far as sentences about them need it.
struct Rival {
  std::string policy;
  Competitor row;
  std::uint64_t arrived = 0, completed = 0, refused = 0, running = 0;  ///< requests of the whole run
  bool most_finished = true;
  bool closed = false;                                  ///< in a closed loop some always run
  std::function<double(std::string_view path)> figure;  ///< kNone where there is none
};
[[nodiscard]] std::vector<Rival> rivals_of(const std::vector<Outcome>& outcomes);

/// Which requests the latencies are of, and whose latencies are not compared, for most of their requests did not
/// finish.
[[nodiscard]] std::string latency_note(const std::vector<Rival>& rivals, bool ttft_only);

/// "Even in output tokens/s, closer than 1.4x to the best: a, b": a sentence a figure in which rivals that are compared
/// are closer than the error of the model (planner/stated_error.h). `ttft`: the path of the time to first token that is
/// compared.
[[nodiscard]] std::vector<std::string> even_sentences(const std::vector<Rival>& rivals, std::string_view ttft);

/// Each once: intervals of the runs, what was not measured; of several, which are even with the best.
[[nodiscard]] std::vector<std::string> how_sure(const std::vector<Outcome>& outcomes);

}  // namespace kvsim::results
