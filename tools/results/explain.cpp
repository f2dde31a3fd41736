#include "tools/results/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/bottleneck.h"
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
constexpr const char* kOneObservation = "an interval needs two observations";
constexpr const char* kOfTheTime = "of the time";

Fields<TimeShares> share_fields() {
  Fields<TimeShares> fields;
  for (const serving::TimePartName& part : serving::kTimeParts) {
    fields.push_back({std::string(part.key),
                      {kShare, fmt::format("share of the GPUs' time {}", part.time)},
                      std::string(part.name),
                      [&part](const TimeShares& t) { return (t.of.*part.part).share; }});
  }
  fields.push_back({kOnPages, "short of GPU memory", &TimeShares::short_of_memory, percent, "",
                    "beside the others: the next request or a reload would find no room"});
  return fields;
}

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
    {"gpu_busy",
     {kShare, kHigher, "time with work on the GPUs"},
     "GPU busy",
     &Utilisation::gpu_busy,
     {},
     "",
     kOfTheTime},
    {"host_to_gpu",
     {kShare, "time with a transfer on the link to the GPU"},
     "host to GPU",
     &Utilisation::link_to_gpu,
     {},
     "",
     kOfTheTime},
    {"gpu_to_host",
     {kShare, "time with a transfer on the link to the host"},
     "GPU to host",
     &Utilisation::link_to_host,
     {},
     "",
     kOfTheTime},
    {"hbm_bytes", {kBytes, "GPU memory of a replica for weights and KV"}, &Utilisation::hbm_bytes},
    {"hbm_peak_bytes", {kBytes, kLower, "weights and KV in it, at most"}, &Utilisation::hbm_peak_bytes},
    {"hbm_mean_bytes", {kBytes, kLower, "weights and KV in it, mean over time"}, &Utilisation::hbm_mean_bytes},
    {"hbm_peak",
     {kShare, "of GPU memory filled, at most"},
     "GPU memory, peak",
     hbm_peak,
     {},
     "",
     hbm_peak_words,
     "no GPU memory"},
    {"hbm_mean",
     {kShare, "of GPU memory filled, mean over time"},
     "GPU memory, mean",
     hbm_mean,
     {},
     "",
     [](const Utilisation& u) { return bytes(u.hbm_mean_bytes); },
     "no GPU memory"}};

std::string late_share(const Stalls& s) {
  return percent(share(s.late_rounds, s.rounds));
}

const Fields<Stalls> kStallFields{
    {"request_iterations", {kCount, "iterations of requests that decode"}, &Stalls::request_iterations},
    {"drafting",
     {kShare, "iterations of requests that draft or decode plainly"},
     "drafting",
     &Stalls::drafting,
     {},
     "",
     "or plain decoding"},
    {"verifying", {kShare, "iterations of requests that verify"}, "verifying", &Stalls::verifying},
    {"late_reload",
     {kShare, kLower, "iterations of requests that wait for a late reload"},
     "stalled, reload late",
     &Stalls::late_reload},
    {"otherwise",
     {kShare, kLower, "iterations of requests that wait for something else"},
     "stalled otherwise",
     &Stalls::otherwise,
     {},
     "",
     [](const Stalls& s) { return fmt::format("of {} request-iterations", whole(s.request_iterations)); }},
    {"rounds", {kCount, "rounds of drafting and verification"}, &Stalls::rounds},
    {"late_rounds",
     {kCount, kLower, "rounds whose reload was late"},
     "late rounds",
     &Stalls::late_rounds,
     late_share,
     "",
     [](const Stalls& s) { return fmt::format("{} of {}", whole(s.late_rounds), whole(s.rounds)); }},
    {"preemptions",
     {kCount, kLower, "times that a request was preempted, in the whole runs"},
     "preemptions",
     &Stalls::preemptions,
     {},
     "",
     "of the whole runs"},
    {"link_wait_s",
     {kSeconds, kLower, "wait of a transfer for the link to the GPU, mean"},
     "wait for the link",
     &Stalls::link_wait_s,
     {},
     "",
     "of a transfer to the GPU, mean",
     "nothing was moved to the GPU"}};

/// Table for requests that draft; those that do not have no rounds.
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

const Fields<Change> kChangeFields{
    {"relative", {kShare, kHigher, "change of the tokens a second"}, &Change::relative, kOneObservation},
    {"half_width_95",
     {kShare, kLower, "half the 95 % confidence interval of the change"},
     &Change::half_width_95,
     kOneObservation}};

Fields<Elasticity> elasticity_fields() {
  using E = Elasticity;
  using F = Field<E>;
  return {{kOnPages, "of", [](const E& e) { return name_of(e.factor).name; }, Align::left},
          {"elasticity",
           {kPlain, "relative change of the throughput over that of the resource"},
           &E::value,
           kOneObservation},
          F::part("kept", "with the plan kept as it is", &E::kept, kChangeFields),
          {kOnPages, "plan kept", &E::value, [](const E& e) { return gain(e.kept); }},
          F::part("replanned", "with the plan that is best for it", &E::replanned, kChangeFields),
          {kOnPages, "planned anew", &E::value, [](const E& e) { return gain(e.replanned); }},
          {kOnPages, "elasticity", &E::value, two_digits},
          {"same_plan", {kTruth, "whether that is the same plan"}, &E::same_plan},
          F::part("plan", "the plan that is best for it", &E::plan, operating_point_fields()),
          {kOnPages,
           "new plan",
           &E::same_plan,
           {[](const E& e) { return e.same_plan ? "the same" : plan_text(e.plan); }, Align::left}}};
}

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

Fields<Alternative> alternative_fields() {
  using A = Alternative;
  return {{"what", {kText, "what is other than in the plan"}, "", &A::what, Align::left},
          {"fits", {kTruth, "whether it fits into GPU memory"}, [](const A& a) { return a.plan.has_value(); }},
          {kOnPages, "tokens/s", [](const A& a) { return a.plan ? a.plan->throughput_tokens_per_s : kNone; }},
          {"loss?",
           {kShare, kLower, "of the plan's throughput that it loses"},
           "loss",
           [](const A& a) { return a.plan ? a.loss : kNone; }},
          Field<A>::part("plan?", "the best plan of that kind", &A::plan, operating_point_fields()),
          {kOnPages,
           "plan",
           [](const A& a) { return a.plan.has_value(); },
           {[](const A& a) { return a.plan ? plan_text(*a.plan) : "does not fit"; }, Align::left}}};
}

constexpr const char* kStays = "the plan stays the best";

const Fields<MarginSide>& side_fields() {
  static const Fields<MarginSide> fields{
      {"factor", {kPlain, "times the resource, from which on another plan is the best"}, &MarginSide::factor, kStays},
      {"change",
       {kText, "what changes in the plan there"},
       [](const MarginSide& m) { return m.factor ? m.change : std::string(); }},
      Field<MarginSide>::part(
          "plan", "the plan that is best there", [](const MarginSide& m) { return m.factor ? m.plan : std::nullopt; },
          operating_point_fields(), [](const MarginSide& m) { return m.factor ? "nothing fits" : kStays; })};
  return fields;
}

const Fields<Margin> kMarginFields{
    Field<Margin>::part("down", "with less of the resource", &Margin::down, side_fields()),
    Field<Margin>::part("up", "with more of the resource", &Margin::up, side_fields())};

/// By resource, as the elasticities below.
std::vector<std::pair<std::string_view, Margin>> by_factor(const Explanation& e) {
  std::vector<std::pair<std::string_view, Margin>> all;
  for (const Margin& one : e.margins) all.emplace_back(name_of(one.factor).key, one);
  return all;
}

Fields<Explanation> margin_fields() {
  return {Field<Explanation>::by_name(std::string(kNames), "how far a resource may change", by_factor, kMarginFields),
          {"searched", {kText, "where margins were looked for"}, &Explanation::searched}};
}

std::vector<std::pair<std::string_view, Elasticity>> by_resource(const Explanation& e) {
  std::vector<std::pair<std::string_view, Elasticity>> all;
  for (const Elasticity& one : e.elasticities) all.emplace_back(name_of(one.factor).key, one);
  return all;
}

Fields<Explanation> binding_fields() {
  using E = Explanation;
  return {{"sentence", {kText, "which resource binds, in words"}, explain_sentence},
          {"resource",
           {kText, "the resource that binds"},
           [](const E& e) { return e.binding ? std::optional(name_of(*e.binding).key) : std::nullopt; },
           [](const E& e) {
             return e.load_bound ? "the plan serves all that is offered" : "no gain exceeds its interval";
           }},
          {"output_tokens_per_s",
           {kTokensPerS, kHigher, "output tokens a second of all replicas, simulated"},
           &E::tokens_per_s,
           kNoTime},
          {"half_width_95",
           {kTokensPerS, kLower, "half the 95 % confidence interval of output tokens a second"},
           &E::half_width_95,
           kOneObservation},
          {"replications", {kCount, "replications of each simulation"}, &E::replications},
          Field<E>::part("time_shares", "what the GPUs' time goes into", &E::shares, share_fields()),
          {"short_of_gpu_memory",
           {kShare, kLower, "time in which the next request or a reload would find no room"},
           [](const E& e) { return e.shares.short_of_memory; }}};
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
      table_of(fmt::format("Tokens/s with {:g} % more", Elasticity::kStep * kPercent), elasticity_fields(), by_size(e)),
      figures_of("Time of the GPUs", share_fields(), e.shares),
      figures_of("Utilisation", kUtilisationFields, e.utilisation),
      stall_table(e.stalls),
      margin_table(e),
      table_of("Alternatives, by the closed forms", alternative_fields(), e.alternatives)};
  List notes{"Notes", {"agreement +10 %: -ln a of drafted tokens is divided by 1.1", "margins: " + e.searched}};
  notes.items.insert(notes.items.end(), e.remarks.begin(), e.remarks.end());
  page.lists = {notes};
  return page;
}

Fields<Explanation> explanation_fields() {
  using E = Explanation;
  using F = Field<E>;
  return {F::part("plan", "the plan that is explained", &E::plan, operating_point_fields()),
          F::part("binding", "the resource that binds, if one does", std::identity{}, binding_fields()),
          F::part("utilisation", "how busy and how full the machine is", &E::utilisation, kUtilisationFields),
          F::part("stalls", "what requests do in their iterations", &E::stalls, kStallFields),
          F::by_name("elasticities", "what a tenth more of a resource brings", by_resource, elasticity_fields()),
          F::part("margins", "how far a resource may change before another plan is better", std::identity{},
                  margin_fields()),
          F::list("runner_up", "other plans, by the closed forms", &E::alternatives, alternative_fields()),
          F::values("remarks[]", {kText, "what the explanation rests on"}, [](const E& e) { return Json(e.remarks); })};
}

}  // namespace kvsim::results
