// Samples of a run whose percentiles are from a sketch.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/provenance.h"

namespace kvsim::results {
namespace {

template <auto Member>
const engine::Sample& sample(const serving::Measurements& m) {
  return m.*Member;
}

}  // namespace

std::span<const QuantileSample> quantile_samples() {
  using M = serving::Measurements;
  static constexpr std::array<QuantileSample, 11> samples{
      {{"latency_s.ttft", "times to the first token", sample<&M::ttft_s>},
       {"latency_s.tpot", "times per output token", sample<&M::tpot_s>},
       {"latency_s.itl", "gaps between tokens", sample<&M::itl_s>},
       {"details.round_gap_s", "gaps between rounds", sample<&M::round_gap_s>},
       {"latency_s.e2e", "times to the last token", sample<&M::e2e_s>},
       {"iterations", "lengths of iterations", sample<&M::iteration_s>},
       {"placement.quality", "scores of what was loaded",
        [](const M& m) -> const engine::Sample& { return m.placement.quality; }},
       {"sessions.duration_s", "lengths of sessions", sample<&M::session_s>},
       {"sessions.sub_agents.duration_s", "lengths of sub-agents' sessions", sample<&M::sub_agent_s>},
       {"sessions.ttft_first_s", "times to the first token of first turns", sample<&M::first_turn_ttft_s>},
       {"sessions.ttft_later_s", "times to the first token of later turns", sample<&M::later_turn_ttft_s>}}};
  return samples;
}

std::string sketched_percentiles(const std::vector<std::string>& keys) {
  std::vector<std::string_view> words;
  for (const QuantileSample& one : quantile_samples()) {
    if (std::find(keys.begin(), keys.end(), one.key) != keys.end()) words.push_back(one.words);
  }
  return words.empty() ? std::string() : fmt::format("{}: {}", fmt::join(words, ", "), kSketched);
}

std::string sketched_percentiles(const serving::Measurements& run) {
  std::vector<std::string> keys;
  for (const QuantileSample& one : quantile_samples()) {
    if (one.of(run).sketched()) keys.emplace_back(one.key);
  }
  return sketched_percentiles(keys);
}

}  // namespace kvsim::results
