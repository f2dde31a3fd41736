// The least of each kind of result that a report can be made of, by hand; tests put in what they are about.
#pragma once

#include <string>
#include <vector>

#include "tools/report/parts.h"
#include "tools/report/report.h"

namespace kvsim::report {

/// One simulation. Lossless, with an interval of 10 tokens/s.
[[nodiscard]] Json run_document(const std::string& policy = "full_kv", double tokens_per_s = 100);
/// The same with a task score below that of full KV.
[[nodiscard]] Json lossy_run(const std::string& policy, double tokens_per_s, double score);
/// The first is the baseline.
[[nodiscard]] Json compare_document(const std::vector<Json>& runs);
/// By the closed forms: x = 32, c = 0.2, with a heat map of 2 x 2.
[[nodiscard]] Json plan_document();
/// The same simulated: x = 27 is best.
[[nodiscard]] Json simulated_plan();
/// What `--explain` adds: gains in share of tokens/s for 10 % more of each, with the half widths of their intervals.
struct Gain {
  std::string of;
  double relative, half_width;
};
[[nodiscard]] Json explanation(const std::vector<Gain>& gains);
/// One machine, 80 requests/s a replica, no rate asked for.
[[nodiscard]] Json capacity_document();
/// The same with a fleet of two replicas for 100 requests/s.
[[nodiscard]] Json fleet_document();
/// A grid of draft length over keep ratio; the last is the best, by more than its interval.
[[nodiscard]] Json sweep_document(std::size_t draft_lengths = 3, std::size_t keep_ratios = 2);
/// Two periods of one second: GPU, links, memory and queue.
[[nodiscard]] Json timeline();
/// details.memory: 100 GB, all of it in parts.
[[nodiscard]] Json memory_document();

/// All kinds at once.
[[nodiscard]] std::vector<Json> one_of_each();

[[nodiscard]] Inputs inputs_of(const std::vector<Json>& documents);
/// The sections, blocks and texts that a report has.
[[nodiscard]] Page report_of(const std::vector<Json>& documents);
/// All answers to a question, in order.
[[nodiscard]] std::vector<Fact> facts_of(const std::vector<Json>& documents, const std::string& question);
/// The one answer that there is; fails the test where there are more or none.
[[nodiscard]] Fact only(const std::vector<Json>& documents, const std::string& question);
/// Whether the answer's detail has these words.
[[nodiscard]] bool says(const Fact& fact, const std::string& words);
/// The blocks of one kind, in order.
template <class Kind>
[[nodiscard]] std::vector<Kind> all(const Section& section) {
  std::vector<Kind> found;
  for (const Block& block : section.blocks) {
    if (const auto* one = std::get_if<Kind>(&block)) found.push_back(*one);
  }
  return found;
}
/// Fails the test where there is none of that id.
[[nodiscard]] Plot plot_of(const Section& section, const std::string& id);

}  // namespace kvsim::report
