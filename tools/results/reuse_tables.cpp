// Prompts made of chunks, in the page of a run.
#include <limits>

#include <fmt/format.h>

#include "tools/results/drafting_results.h"
#include "tools/results/lossless.h"
#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"
#include "tools/results/reuse_results.h"

namespace kvsim::results {
namespace {

using serving::AnswerMeasurement;
using serving::Measurements;
using serving::ReuseMeasurement;

Table answers(const Outcome& outcome) {
  const AnswerMeasurement& a = outcome.result.measured.answers;
  const auto count = static_cast<double>(a.answers);
  Table t = key_figures("Answers");
  t.rows.push_back({"score, mean", figure(share(a.score, count)), "",
                    fmt::format("{} with all of the prompt computed", figure(share(a.full_score, count)))});
  if (const auto& floor = outcome.scenario.serving.slo.quality_floor) {
    t.rows.push_back({"good", percent(share(a.good, a.answers)), "",
                      fmt::format("of answers: at least {:g} of their task's mean score", *floor)});
  }
  return t;
}

Table chunk_prompts(const Outcome& outcome) {
  const Measurements& m = outcome.result.measured;
  const ReuseMeasurement& r = m.reuse;
  const auto chunks = static_cast<double>(r.chunk_tokens);
  Table t = key_figures("Prompts put together: " + prefill_text(outcome.scenario));
  const auto tokens = [&](const char* label, std::int64_t count, const std::string& remark) {
    t.rows.push_back({label, percent(share(static_cast<double>(count), chunks)), "",
                      fmt::format("{} tokens {}", whole(count), remark)});
  };
  t.rows.push_back({"prompts", whole(r.prompts), "",
                    fmt::format("{} tokens of chunks, {} behind them", whole(r.chunk_tokens), whole(r.other_tokens))});
  tokens("of chunks, loaded", r.loaded_tokens, "from tiers");
  tokens("computed alone", r.apart_tokens, "that were not stored");
  tokens("computed again", r.recomputed_tokens, "over the whole prompt");
  if (drafts_as_found(outcome.scenario.serving)) {
    t.rows.push_back(
        {"computed to verify", whole(r.verified_tokens), "", "tokens of prompts, whole, beside the drafts on them"});
  }
  if (outcome.scenario.serving.cluster.scorer_gpus > 0) {
    const double capacity = m.capacity_s * static_cast<double>(outcome.scenario.serving.cluster.scorer_gpus);
    t.rows.push_back({"scorers busy", percent(share(r.scorers_busy_s, capacity))});
  }
  return t;
}

Table times(const Outcome& outcome) {
  const ReuseMeasurement& r = outcome.result.measured.reuse;
  const auto prompts = static_cast<double>(r.prompts);
  Table t = key_figures("Time to first token, in parts");
  const auto part = [&](const char* label, double sum, const std::string& remark) {
    t.rows.push_back({label, seconds(share(sum, prompts)), "", remark});
  };
  part("queueing", r.queue_s, "arrival to admission");
  part("loading", r.load_s, "side by side with choosing");
  if (outcome.scenario.serving.prefill == serving::PrefillKind::selective) {
    part("choosing tokens", r.select_s,
         fmt::format("scoring, aligning; longer than loading: {} of prompts",
                     percent(share(r.selections_longer, r.prompts))));
  }
  part("both, and missing chunks", r.assemble_s, "admission to first token computed over the whole prompt");
  part("prefill", r.prefill_s, "of what is computed again, and what follows the chunks");
  if (drafts_as_found(outcome.scenario.serving)) {
    t.rows.push_back({"first drafted token", seconds(share(r.first_draft_s, static_cast<double>(r.first_drafts))), "",
                      fmt::format("arrival to draft; verified, and counted as first, {} after arrival",
                                  seconds(outcome.result.measured.ttft_s.mean()))});
  }
  return t;
}

}  // namespace

std::vector<Table> reuse_tables(const Outcome& outcome) {
  if (outcome.scenario.serving.tasks.empty()) return {};
  if (!outcome.scenario.serving.reuse) return {answers(outcome)};
  return {answers(outcome), chunk_prompts(outcome), times(outcome)};
}

}  // namespace kvsim::results
