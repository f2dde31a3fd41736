// Prompts made of chunks, for people: tables of a run, and prefill policies side by side.
#include <limits>

#include <fmt/format.h>

#include "tools/results/lossless.h"
#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"
#include "tools/results/reuse_results.h"

namespace kvsim::results {
namespace {

using serving::AnswerMeasurement;
using serving::Measurements;
using serving::ReuseMeasurement;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double share(double part, double of) {
  return of > 0 ? part / of : kNone;
}
double share(std::uint64_t part, std::uint64_t of) {
  return share(static_cast<double>(part), static_cast<double>(of));
}

std::string whole_percent(double of_one) {
  return of_one == of_one ? fmt::format("{:.0f} %", of_one * 100) : "-";
}

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

Table prompts(const Outcome& outcome) {
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
  return t;
}

std::vector<std::string> row(const Outcome& o, const Outcome& baseline, const std::string& link_use) {
  const Measurements& m = o.result.measured;
  const double speedup = ttft_speedup(o.result, baseline.result).value_or(kNone);
  const AnswerMeasurement& a = m.answers;
  const auto prompt = static_cast<double>(m.placement.loaded_tokens + m.placement.computed_tokens);
  // Without tiers everything is computed.
  double loaded = share(static_cast<double>(m.placement.loaded_tokens), prompt);
  double computed = 1 - loaded;
  if (!o.scenario.serving.placement) {
    loaded = 0;
    computed = 1;
  } else if (o.scenario.serving.reuse) {
    const ReuseMeasurement& r = m.reuse;
    computed = share(static_cast<double>(r.apart_tokens + r.recomputed_tokens + r.other_tokens),
                     static_cast<double>(r.chunk_tokens + r.other_tokens));
  }
  return {o.policy,
          seconds(m.ttft_s.mean()),
          factor(speedup),
          seconds(m.ttft_s.quantile(0.99)),
          figure(share(a.score, a.full_score)),
          whole_percent(share(a.good, a.answers)),
          figure(share(static_cast<double>(m.good), m.measured_s)),
          whole_percent(loaded),
          whole_percent(computed),
          link_use,
          whole_percent(share(m.busy_s, m.capacity_s)),
          whole(serving::gpus(o.scenario.serving.cluster)),
          figure(share(static_cast<double>(m.good),
                       m.measured_s * static_cast<double>(serving::gpus(o.scenario.serving.cluster))))};
}

}  // namespace

std::vector<Table> reuse_tables(const Outcome& outcome) {
  if (outcome.scenario.serving.tasks.empty()) return {};
  if (!outcome.scenario.serving.reuse) return {answers(outcome)};
  return {answers(outcome), prompts(outcome), times(outcome)};
}

Table reuse_table(const std::vector<Outcome>& outcomes, const std::vector<std::string>& link_use) {
  Table t;
  t.header = {"policy", "TTFT",     "speedup", "TTFT p99", "score", "good",   "goodput",
              "loaded", "computed", "link",    "GPU",      "GPUs",  "per GPU"};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    t.rows.push_back(row(outcomes[i], outcomes.front(), link_use[i]));
  }
  return t;
}

List reuse_columns(const std::vector<Outcome>& outcomes) {
  const Outcome& first = outcomes.front();
  const auto& floor = first.scenario.serving.slo.quality_floor;
  return {
      "Columns",
      {fmt::format("TTFT: mean time to the first token; speedup: that of {} over it", first.policy),
       "score: mean score of answers / that of the same answers with all of the prompt computed",
       floor ? fmt::format("good: share of answers with at least {:g} of their task's mean score; goodput: requests/s "
                           "with such an answer that meet all objectives",
                           *floor)
             : std::string("good: all answers, as slo.quality_floor is not set; goodput: requests/s that meet all "
                           "objectives"),
       "loaded, computed: shares of prompt tokens; what is loaded and computed again counts in both",
       "link: the busiest; GPU: share of time busy, without those that only score; GPUs: all of them; per GPU: "
       "goodput over them"}};
}

}  // namespace kvsim::results
