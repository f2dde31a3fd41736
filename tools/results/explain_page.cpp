#include "tools/results/explain_page.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::Change;
using planner::Elasticity;
using planner::Explanation;
using planner::name_of;

constexpr double kPercent = 100;

std::string gain(double relative) {
  return fmt::format("{:+.1f} %", relative * kPercent);
}

std::string gain(const Change& change) {
  if (std::isnan(change.half_width_95)) return gain(change.relative);
  return fmt::format("{} ± {:.1f} %", gain(change.relative), change.half_width_95 * kPercent);
}

std::string plan_text(const planner::OperatingPoint& p) {
  if (p.x == 0) return fmt::format("full KV, B_g {}", p.batch.B_g);
  const std::string span = p.batch.B_c > 0 ? fmt::format(", l {}", p.batch.l) : std::string();
  return fmt::format("x {}, c {:g}, B_c {}, B_g {}{}", p.x, p.c, p.batch.B_c, p.batch.B_g, span);
}

std::vector<Elasticity> by_size(const Explanation& e) {
  std::vector<Elasticity> sorted = e.elasticities;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Elasticity& a, const Elasticity& b) { return a.better().relative > b.better().relative; });
  return sorted;
}

Table binding(const Explanation& e) {
  Table t = key_figures("Time of the GPUs");
  t.rows.push_back({"bound by HBM bandwidth", percent(e.shares.hbm_bandwidth)});
  t.rows.push_back({"bound by compute", percent(e.shares.compute)});
  t.rows.push_back({"bound by link", percent(e.shares.link)});
  t.rows.push_back({"idle", percent(e.shares.idle)});
  t.rows.push_back({"short of GPU memory", percent(e.shares.short_of_memory), "",
                    "beside the others: the next request or a reload would find no room"});
  return t;
}

Table utilisation(const Explanation& e) {
  const planner::Utilisation& u = e.utilisation;
  Table t = key_figures("Utilisation");
  t.rows.push_back({"GPU busy", percent(u.gpu_busy), "", "of the time"});
  t.rows.push_back({"host to GPU", percent(u.link_to_gpu), "", "of the time"});
  t.rows.push_back({"GPU to host", percent(u.link_to_host), "", "of the time"});
  t.rows.push_back({"GPU memory, peak", percent(u.hbm_peak_bytes / u.hbm_bytes), "",
                    fmt::format("{} of {} for weights and KV", bytes(u.hbm_peak_bytes), bytes(u.hbm_bytes))});
  t.rows.push_back({"GPU memory, mean", percent(u.hbm_mean_bytes / u.hbm_bytes), "", bytes(u.hbm_mean_bytes)});
  return t;
}

Table stalls(const Explanation& e) {
  const planner::Stalls& s = e.stalls;
  Table t = key_figures("What requests do in their iterations");
  t.rows.push_back({"drafting", percent(s.drafting), "", "or plain decoding"});
  t.rows.push_back({"verifying", percent(s.verifying)});
  t.rows.push_back({"stalled, reload late", percent(s.late_reload)});
  t.rows.push_back({"stalled otherwise", percent(s.otherwise), "",
                    fmt::format("of {} request-iterations", whole(s.request_iterations))});
  if (s.rounds > 0) {
    t.rows.push_back({"late rounds", percent(static_cast<double>(s.late_rounds) / static_cast<double>(s.rounds)), "",
                      fmt::format("{} of {}", whole(s.late_rounds), whole(s.rounds))});
  }
  t.rows.push_back({"preemptions", whole(s.preemptions), "", "of the whole runs"});
  t.rows.push_back({"wait for the link", seconds(s.link_wait_s), "", "of a transfer to the GPU, mean"});
  return t;
}

Table elasticities(const Explanation& e) {
  Table t{fmt::format("Tokens/s with {:g} % more", Elasticity::kStep * kPercent),
          {"of", "plan kept", "planned anew", "elasticity", "new plan"},
          {Align::left, Align::right, Align::right, Align::right, Align::left},
          {}};
  for (const Elasticity& one : by_size(e)) {
    t.rows.push_back({std::string(name_of(one.factor).name), gain(one.kept), gain(one.replanned),
                      fmt::format("{:.2f}", one.value()), one.same_plan ? "the same" : plan_text(one.plan)});
  }
  return t;
}

std::string side(const planner::MarginSide& side) {
  return side.factor ? fmt::format("{:+.2f} %", (*side.factor - 1) * kPercent) : "-";
}

Table margins(const Explanation& e) {
  Table t{"The plan stays the best until",
          {"of", "less", "then", "more", "then"},
          {Align::left, Align::right, Align::left, Align::right, Align::left},
          {}};
  for (const planner::Margin& m : e.margins) {
    t.rows.push_back({std::string(name_of(m.factor).name), side(m.down), m.down.change, side(m.up), m.up.change});
  }
  return t;
}

Table runner_up_table(const Explanation& e) {
  Table t{"Alternatives, by the closed forms",
          {"", "tokens/s", "loss", "plan"},
          {Align::left, Align::right, Align::right, Align::left},
          {}};
  for (const planner::Alternative& a : e.alternatives) {
    if (!a.plan) {
      t.rows.push_back({a.what, "-", "-", "does not fit"});
      continue;
    }
    t.rows.push_back({a.what, figure(a.plan->throughput_tokens_per_s), percent(a.loss), plan_text(*a.plan)});
  }
  return t;
}

}  // namespace

std::string explain_sentence(const Explanation& e) {
  std::vector<std::string> others;
  std::string sentence;
  for (const Elasticity& one : by_size(e)) {
    if (e.binding == one.factor) {
      sentence = fmt::format("{} binds: {:+g} % of it gives {} tokens/s", name_of(one.factor).name,
                             Elasticity::kStep * kPercent, gain(one.better()));
    } else {
      others.push_back(fmt::format("{} {}", name_of(one.factor).name, gain(one.better().relative)));
    }
  }
  if (!e.binding) {
    sentence = e.load_bound ? "No resource binds: the plan serves all that is offered"
                            : "No resource binds alone: none gains more than its interval";
    sentence += fmt::format("; {:+g} % of each gives", Elasticity::kStep * kPercent);
    return fmt::format("{} {}.", sentence, fmt::join(others, ", "));
  }
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return fmt::format("{}; {}.", sentence, fmt::join(others, ", "));
}

Page explain_page(const Explanation& e) {
  Page page;
  page.title = "Why this plan";
  page.subtitle = {
      explain_sentence(e),
      fmt::format("{}: {} {} tokens/s, simulated over {} replications; all changes against the same seeds.",
                  plan_text(e.plan), figure(e.tokens_per_s), plus_minus(e.half_width_95), e.replications)};
  page.tables = {elasticities(e), binding(e), utilisation(e), stalls(e), margins(e), runner_up_table(e)};
  List notes{"Notes", {}};
  notes.items.push_back("agreement +10 %: -ln a of drafted tokens is divided by 1.1");
  notes.items.push_back("margins: " + e.searched);
  notes.items.insert(notes.items.end(), e.remarks.begin(), e.remarks.end());
  page.lists = {notes};
  return page;
}

}  // namespace kvsim::results
