// Prefill policies of prompts made of chunks side by side.
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tools/results/compare_columns.h"
#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

double loaded_share(const Outcome& o) {
  if (!o.scenario.serving.placement) return 0;
  const serving::PlacementMeasurement& p = o.result.measured.placement;
  const auto tokens = static_cast<double>(p.loaded_tokens);
  return share(tokens, tokens + static_cast<double>(p.computed_tokens));
}

double computed_share(const Outcome& o) {
  if (!o.scenario.serving.placement) return 1;  // without tiers everything is
  if (!o.scenario.serving.reuse) return 1 - loaded_share(o);
  const serving::ReuseMeasurement& r = o.result.measured.reuse;
  return share(static_cast<double>(r.apart_tokens + r.recomputed_tokens + r.other_tokens),
               static_cast<double>(r.chunk_tokens + r.other_tokens));
}

double good_share(const Outcome& o) {
  const serving::AnswerMeasurement& a = o.result.measured.answers;
  return share(static_cast<double>(a.good), static_cast<double>(a.answers));
}

double goodput(const Outcome& o) {
  return share(static_cast<double>(o.result.measured.good), o.result.measured.measured_s);
}

double gpu_count(const Outcome& o) {
  return static_cast<double>(serving::gpus(o.scenario.serving.cluster));
}

}  // namespace

std::vector<Column> reuse_columns(const Comparison& comparison) {
  const std::vector<Outcome>& all = comparison.outcomes;
  std::vector<Column> columns = first_token_columns(all);
  columns.push_back(figure_column("score", "score", values_of(all, [](const Outcome& o) {
                                    const serving::AnswerMeasurement& a = o.result.measured.answers;
                                    return share(a.score, a.full_score);
                                  })));
  columns.back().kind = Kind::quality;
  columns.push_back(percent_column("good", "good_share", values_of(all, good_share)));
  columns.push_back(figure_column("good-\nput /s", "goodput_requests_per_s", values_of(all, goodput)));
  if (decodes_differently(all)) {
    columns.push_back(tpot_column(all));
  } else {
    columns.push_back(percent_column("loaded", "", values_of(all, loaded_share)));
  }
  columns.push_back(percent_column("computed", "", values_of(all, computed_share)));
  columns.push_back(link_column(all));
  Column all_gpus = figure_column("GPUs", "", values_of(all, gpu_count));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all_gpus.cells[i] = whole(serving::gpus(all[i].scenario.serving.cluster));
  }
  columns.push_back(std::move(all_gpus));
  columns.push_back(figure_column("goodput\nper GPU", "goodput_requests_per_s_per_gpu",
                                  values_of(all, [](const Outcome& o) { return goodput(o) / gpu_count(o); })));
  columns.push_back(cost_column(comparison));
  return columns;
}

std::vector<std::string> reuse_notes(const std::vector<Outcome>& outcomes) {
  const Outcome& first = outcomes.front();
  const auto& floor = first.scenario.serving.slo.quality_floor;
  return {fmt::format("TTFT: mean time to the first token; speedup: that of {} over it", first.policy),
          "score: mean score of answers / that of the same answers with all of the prompt computed",
          floor
              ? fmt::format("good: share of answers with at least {:g} of their task's mean score; goodput: requests/s "
                            "with such an answer that meet all objectives",
                            *floor)
              : std::string("good: all answers, as slo.quality_floor is not set; goodput: requests/s that meet all "
                            "objectives"),
          decodes_differently(outcomes)
              ? "computed: share of prompt tokens, those for verification left out; TPOT: mean over requests"
              : "loaded, computed: shares of prompt tokens; what is loaded and computed again counts in both",
          "link: the busiest, share of time; GPUs: all of them, those that only score too"};
}

}  // namespace kvsim::results
