#include "tools/results/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/fields.h"

namespace kvsim::results {
namespace {

using planner::Alternative;
using planner::Change;
using planner::Elasticity;
using planner::Explanation;
using planner::Margin;
using planner::MarginSide;
using planner::name_of;
using planner::Stalls;
using planner::TimeShares;
using planner::Utilisation;

constexpr double kPercent = 100;
constexpr std::string_view kOneObservation = "an interval needs two observations";
constexpr const char* kOfTheTime = "of the time";

const Fields<TimeShares> kShareFields{{"hbm_bandwidth", "bound by HBM bandwidth", &TimeShares::hbm_bandwidth, percent},
                                      {"compute", "bound by compute", &TimeShares::compute, percent},
                                      {"link", "bound by link", &TimeShares::link, percent},
                                      {"idle", "idle", &TimeShares::idle, percent},
                                      {"", "short of GPU memory", &TimeShares::short_of_memory, percent, "",
                                       "beside the others: the next request or a reload would find no room"}};

double hbm_peak(const Utilisation& u) {
  return share(u.hbm_peak_bytes, u.hbm_bytes);
}

double hbm_mean(const Utilisation& u) {
  return share(u.hbm_mean_bytes, u.hbm_bytes);
}

std::string hbm_peak_words(const Utilisation& u) {
  return fmt::format("{} of {} for weights and KV", bytes(u.hbm_peak_bytes), bytes(u.hbm_bytes));
}

const Fields<Utilisation> kUtilisationFields{
    {"gpu_busy", "GPU busy", &Utilisation::gpu_busy, percent, "", kOfTheTime},
    {"host_to_gpu", "host to GPU", &Utilisation::link_to_gpu, percent, "", kOfTheTime},
    {"gpu_to_host", "GPU to host", &Utilisation::link_to_host, percent, "", kOfTheTime},
    {"hbm_bytes", &Utilisation::hbm_bytes},
    {"hbm_peak_bytes", &Utilisation::hbm_peak_bytes},
    {"hbm_mean_bytes", &Utilisation::hbm_mean_bytes},
    {"hbm_peak", "GPU memory, peak", hbm_peak, percent, "", hbm_peak_words, "no GPU memory"},
    {"hbm_mean", "GPU memory, mean", hbm_mean, percent, "",
     [](const Utilisation& u) { return bytes(u.hbm_mean_bytes); }, "no GPU memory"}};

std::string late_share(const Stalls& s) {
  return percent(share(s.late_rounds, s.rounds));
}

const Fields<Stalls> kStallFields{
    {"request_iterations", &Stalls::request_iterations},
    {"drafting", "drafting", &Stalls::drafting, percent, "", "or plain decoding"},
    {"verifying", "verifying", &Stalls::verifying, percent},
    {"late_reload", "stalled, reload late", &Stalls::late_reload, percent},
    {"otherwise", "stalled otherwise", &Stalls::otherwise, percent, "",
     [](const Stalls& s) { return fmt::format("of {} request-iterations", whole(s.request_iterations)); }},
    {"rounds", &Stalls::rounds},
    {"late_rounds", "late rounds", &Stalls::late_rounds, late_share, "",
     [](const Stalls& s) { return fmt::format("{} of {}", whole(s.late_rounds), whole(s.rounds)); }},
    {"preemptions", "preemptions", &Stalls::preemptions, figure, "", "of the whole runs"},
    {"link_wait_s", "wait for the link", &Stalls::link_wait_s, seconds, "", "of a transfer to the GPU, mean",
     "nothing was moved to the GPU"}};

/// Of requests that draft; those that do not have no rounds.
Table stall_table(const Stalls& s) {
  Fields<Stalls> fields = kStallFields;
  if (s.rounds == 0) std::erase_if(fields, [](const auto& field) { return field.key == "late_rounds"; });
  return figures_of("What requests do in their iterations", fields, s);
}

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

std::string two_digits(double value) {
  return fmt::format("{:.2f}", value);
}

const Fields<Change> kChangeFields{{"relative", &Change::relative, kOneObservation},
                                   {"half_width_95", &Change::half_width_95, kOneObservation}};

Json change(const Change& c) {
  return object(kChangeFields, c);
}

const Fields<Elasticity> kElasticityFields{
    {"", "of", [](const Elasticity& e) { return name_of(e.factor).name; }, Align::left},
    {"elasticity", &Elasticity::value, kOneObservation},
    {"kept",
     "plan kept",
     [](const Elasticity& e) { return change(e.kept); },
     [](const Elasticity& e) { return gain(e.kept); },
     "",
     {},
     kOneObservation},
    {"replanned",
     "planned anew",
     [](const Elasticity& e) { return change(e.replanned); },
     [](const Elasticity& e) { return gain(e.replanned); },
     "",
     {},
     kOneObservation},
    {"", "elasticity", &Elasticity::value, two_digits},
    {"same_plan", &Elasticity::same_plan},
    {"plan",
     "new plan",
     [](const Elasticity& e) { return operating_point(e.plan); },
     {[](const Elasticity& e) { return e.same_plan ? "the same" : plan_text(e.plan); }, Align::left}}};

std::vector<Elasticity> by_size(const Explanation& e) {
  std::vector<Elasticity> sorted = e.elasticities;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Elasticity& a, const Elasticity& b) { return a.better().relative > b.better().relative; });
  return sorted;
}

std::string side(const MarginSide& side) {
  return side.factor ? fmt::format("{:+.2f} %", (*side.factor - 1) * kPercent) : "-";
}

Table margin_table(const Explanation& e) {
  Table t{"The plan stays the best until",
          {"of", "less", "then", "more", "then"},
          {Align::left, Align::right, Align::left, Align::right, Align::left},
          {}};
  for (const Margin& m : e.margins) {
    t.rows.push_back({std::string(name_of(m.factor).name), side(m.down), m.down.change, side(m.up), m.up.change});
  }
  return t;
}

const Fields<Alternative> kAlternativeFields{
    {"what", "", &Alternative::what, Align::left},
    {"fits", [](const Alternative& a) { return a.plan.has_value(); }},
    {"", "tokens/s", [](const Alternative& a) { return a.plan ? a.plan->throughput_tokens_per_s : kNone; }},
    {"loss?", "loss", [](const Alternative& a) { return a.plan ? a.loss : kNone; }, percent},
    {"plan?",
     "plan",
     [](const Alternative& a) { return a.plan ? operating_point(*a.plan) : Json(nullptr); },
     {[](const Alternative& a) { return a.plan ? plan_text(*a.plan) : "does not fit"; }, Align::left}}};

Section binding(Section s, const Explanation& e) {
  s.set("sentence", explain_sentence(e));
  if (e.binding) {
    s.set("resource", std::string(name_of(*e.binding).key));
  } else {
    s.missing("resource", e.load_bound ? "the plan serves all that is offered" : "no gain exceeds its interval");
  }
  s.number("output_tokens_per_s", e.tokens_per_s, "no time was measured");
  s.number("half_width_95", e.half_width_95, kOneObservation).count("replications", e.replications);
  s.set("time_shares", filled(s.child("time_shares"), kShareFields, e.shares));
  return s.number("short_of_gpu_memory", e.shares.short_of_memory, "");
}

Section margin_side(Section s, const MarginSide& side) {
  constexpr std::string_view stays = "the plan stays the best";
  if (!side.factor) return s.missing("factor", stays).missing("plan", stays).set("change", "");
  s.number("factor", *side.factor, "").set("change", side.change);
  return side.plan ? s.set("plan", operating_point(*side.plan)) : s.missing("plan", "nothing fits");
}

Section margins(Section s, const Explanation& e) {
  for (const Margin& m : e.margins) {
    const std::string key(name_of(m.factor).key);
    Section item = s.child(key);
    item.set("down", margin_side(item.child("down"), m.down)).set("up", margin_side(item.child("up"), m.up));
    s.set(key, item);
  }
  return s.set("searched", e.searched);
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
  page.tables = {
      table_of(fmt::format("Tokens/s with {:g} % more", Elasticity::kStep * kPercent), kElasticityFields, by_size(e)),
      figures_of("Time of the GPUs", kShareFields, e.shares),
      figures_of("Utilisation", kUtilisationFields, e.utilisation),
      stall_table(e.stalls),
      margin_table(e),
      table_of("Alternatives, by the closed forms", kAlternativeFields, e.alternatives)};
  List notes{"Notes", {"agreement +10 %: -ln a of drafted tokens is divided by 1.1", "margins: " + e.searched}};
  notes.items.insert(notes.items.end(), e.remarks.begin(), e.remarks.end());
  page.lists = {notes};
  return page;
}

void add_explanation(Json& plan_document, const Explanation& e) {
  Section s("explanation", plan_document["details"]["reasons"]);
  s.set("plan", operating_point(e.plan)).set("binding", binding(s.child("binding"), e));
  s.set("utilisation", filled(s.child("utilisation"), kUtilisationFields, e.utilisation));
  s.set("stalls", filled(s.child("stalls"), kStallFields, e.stalls));
  Section elasticities = s.child("elasticities");
  for (const Elasticity& one : e.elasticities) {
    const std::string key(name_of(one.factor).key);
    elasticities.set(key, filled(elasticities.child(key), kElasticityFields, one));
  }
  s.set("elasticities", elasticities).set("margins", margins(s.child("margins"), e));
  s.set("runner_up", array(kAlternativeFields, e.alternatives)).set("remarks", e.remarks);
  plan_document["explanation"] = s.take();
}

}  // namespace kvsim::results
