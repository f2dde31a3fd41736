// Figures of configurations and of fleets, for the document of a capacity plan and for its page.
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/capacity.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::capacity::Configuration;
using planner::capacity::Fleet;
using planner::capacity::Probe;
using serving::Miss;

double replicas_of(const Configuration& c) {
  return static_cast<double>(c.scenario.serving.cluster.replicas());
}

Binding binding(const Configuration& c) {
  const Probe* p = c.sustained();
  return p != nullptr ? binding_of(p->bound_by, p->tokeniser_busy, false) : Binding{"-", "-"};
}

std::string limit_of(const Configuration& c) {
  if (!c.sustained() && !c.problem.empty()) return "left out";
  std::string limit(c.limited_by());
  for (const Miss objective : {Miss::ttft, Miss::tpot, Miss::itl, Miss::e2e}) {
    if (limit != planner::capacity::word_of(objective)) continue;
    for (char& letter : limit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return limit.empty() ? "-" : limit;
}

/// A figure of the fleet.
template <class Get>
auto of_fleet(Get get) {
  return [get](const Configuration& c) { return std::invoke(get, *c.fleet); };
}

/// "≥ 99.98 %", rounded down: a bound must not grow by being printed.
std::string at_least(double share) {
  constexpr double kHundredths = 1e4;
  return fmt::format("≥ {:.2f} %", std::floor(share * kHundredths) / kHundredths * 100);
}

std::string headroom_text(double headroom) {
  constexpr double most_percent = 10;  // above it, it is printed as a factor of the required rate
  return headroom > most_percent ? factor(headroom + 1) : fmt::format("{:.0f} %", headroom * 100);
}

}  // namespace

const Fields<Configuration>& rate_fields() {
  static const Fields<Configuration> fields{
      {"rate_per_replica",
       {kRequestsPerS, kHigher, "the rate (of what `load` says) that one replica sustains within the objectives"},
       "req/s",
       at_rate([](const auto& c, const Probe&) { return c.rate_per_replica(); }),
       [](const Configuration& c) {
         return c.sustained() ? load_number(planner::capacity::load_of(c.scenario), c.rate_per_replica()) : "-";
       }},
      {"requests_per_s?",
       {kRequestsPerS, kHigher, "requests/s that this rate of sessions brings: times the requests of a mean session"},
       std::string(kRequests_s),
       [](const Configuration& c) {
         return c.sustained() ? requests_of_sessions(c.scenario, c.rate_per_replica()) : std::nullopt;
       }},
      {"rate_per_gpu",
       {kRequestsPerS, kHigher, "highest rate within the objectives, by GPU of a replica"},
       "per GPU",
       at_rate([](const auto& c, const Probe&) {
         return c.rate_per_replica() / static_cast<double>(c.gpus_per_replica());
       })},
      {"attainment",
       {kShare, kHigher, "share of judged requests that met every objective at that rate"},
       at_rate([](const auto&, const Probe& p) { return p.attainment.share; })},
      {"attainment_lower",
       {kShare, kHigher, "one-sided lower confidence bound of the attainment"},
       at_rate([](const auto&, const Probe& p) { return p.attainment.lower; })},
      {"tokens_per_s",
       {kTokensPerS, kHigher, "output tokens of one replica at that rate"},
       "tokens/s",
       at_rate([](const auto& c, const Probe& p) { return p.tokens_per_s / replicas_of(c); }),
       {},
       "",
       {},
       "no time was measured"},
      {kOnPages, "TTFT mean", at_rate([](const auto&, const Probe& p) { return p.ttft_mean_s; }), seconds},
      {"ttft_p99_s",
       {kSeconds, kLower, "99th percentile of the time to the first token at that rate"},
       "TTFT p99",
       at_rate([](const auto&, const Probe& p) { return p.ttft_p99_s; }),
       {},
       "",
       {},
       kProbeFinishedNothing},
      {"tpot_p99_s",
       {kSeconds, kLower, "99th percentile of the time per output token at that rate"},
       "TPOT p99",
       at_rate([](const auto&, const Probe& p) { return p.tpot_p99_s; }),
       {},
       "",
       {},
       kProbeNoTpot},
      {kOnPages, "limit", limit_of},
      {kOnPages, "bound by", [](const Configuration& c) { return binding(c).text; }},
      {kOnPages, "twice\nit", [](const Configuration& c) { return binding(c).twice; }},
      {kOnPages, "$/h", at_rate([](const auto& c, const Probe&) { return c.cost.total().value_or(kNone); }), dollars},
      {kOnPages, "$/1M", at_rate([](const auto& c, const Probe&) { return c.usd_per_million.value_or(kNone); }),
       dollars}};
  return fields;
}

Fields<Configuration> fleet_fields(bool placement) {
  const auto lower = [](const Fleet& f) { return f.probe ? f.probe->attainment.lower : kNone; };
  const auto month = [](const std::optional<double>& hour) { return hour ? usd_per_month(*hour) : kNone; };
  const auto stored = [](double value, const Configuration& c) { return c.scenario.serving.placement ? value : kNone; };
  Fields<Configuration> fields{
      {"replicas",
       {kCount, kLower, "replicas to buy"},
       placement ? "count" : "replicas",
       of_fleet(&Fleet::replicas),
       of_fleet([](const Fleet& f) { return f.n_minus_1 ? fmt::format("{} + 1", f.needed) : whole(f.replicas); })},
      {"gpus", {kCount, kLower, "GPUs of all replicas"}, "GPUs", of_fleet(&Fleet::gpus)},
      {"nodes?",
       {kCount, kLower, "nodes to buy (cluster.node), all of whose GPUs are paid for"},
       "nodes",
       [](const Configuration& c) {
         return c.fleet && c.fleet->nodes > 0 ? std::optional(c.fleet->nodes) : std::nullopt;
       }},
      {"gpus_per_node?",
       {kCount, "GPUs of a node, where GPUs are bought in nodes"},
       [](const Configuration& c) { return c.fleet && c.fleet->nodes > 0 ? gpus_per_node(c) : std::nullopt; }},
      {"dram_gb",
       {kGigabytes, "host memory to buy for all replicas"},
       placement ? "DRAM" : "DRAM for KV",
       of_fleet(&Fleet::dram_gb)},
      {"ssd_gb",
       {kGigabytes, "storage tiers to buy for all replicas, those with a capacity"},
       "SSD",
       [=](const Configuration& c) { return stored(c.fleet->ssd_gb, c); },
       {},
       "",
       {},
       "no storage tier is simulated: KV lives in GPU and host memory"},
      {"usd_per_hour",
       {kDollarsPerHour, kLower, "what an hour of the fleet costs"},
       "$/h",
       of_fleet([](const Fleet& f) { return f.cost.total(); }),
       dollars,
       "",
       {},
       kNoPrice},
      {"usd_per_month",
       {kDollars, kLower, "what a month of 730 h of the fleet costs"},
       "$/month",
       of_fleet([month](const Fleet& f) { return month(f.cost.total()); }),
       whole_dollars,
       "",
       {},
       kNoPrice},
      {"usd_per_1m_output_tokens",
       {kDollars, kLower, "what one million output tokens cost at the required rate"},
       "$/1M",
       of_fleet(&Fleet::usd_per_million),
       dollars,
       "",
       {},
       kNoPrice},
      {"n_minus_1", {kTruth, "whether one replica may fail"}, of_fleet(&Fleet::n_minus_1)},
      {"replicas_needed",
       {kCount, kLower, "replicas that meet the objectives at the required rate"},
       of_fleet(&Fleet::needed)},
      {"replicas_with_model_error",
       {kCount, kLower, "replicas to buy so that they suffice in spite of what backtests missed by"},
       "sure",
       [](const Configuration& c) { return c.margin.replicas; }},
      {"usd_per_hour_with_model_error",
       {kDollarsPerHour, kLower, "what these cost, host memory and storage in proportion"},
       [](const Configuration& c) { return c.margin.usd_per_hour; },
       kNoPrice},
      {"headroom",
       {kShare, kHigher,
        "by how much the traffic may grow before the objectives break, at least; 0 where it is within the tolerance of "
        "the search"},
       "headroom",
       of_fleet(&Fleet::headroom),
       headroom_text},
      {"tokens_per_s", {kTokensPerS, "output tokens at the required rate"}, of_fleet(&Fleet::tokens_per_s)},
      {"usd_per_hour_gpus",
       {kDollarsPerHour, kLower, "what the GPUs of the fleet cost"},
       of_fleet([](const Fleet& f) { return f.cost.gpus; }),
       kNoPrice},
      {"usd_per_hour_dram",
       {kDollarsPerHour, kLower, "what the host memory of the fleet costs"},
       of_fleet([](const Fleet& f) { return f.cost.host_memory; })},
      {"dram_share",
       {kShare, kLower, "part of the price that host memory is; 0 where it is in the price of nodes"},
       of_fleet([](const Fleet& f) { return dram_share(f.cost); }),
       kNoPrice},
      {"usd_per_hour_ssd?",
       {kDollarsPerHour, kLower, "what the storage tiers of the fleet cost; with placement"},
       [=](const Configuration& c) { return stored(c.fleet->cost.storage, c); }},
      {"simulated", {kTruth, "whether all replicas were simulated; else a subset"}, of_fleet([](const Fleet& f) {
         return !f.subset();
       })},
      {"replicas_simulated",
       {kCount,
        "replicas that were simulated together: those needed, or a subset of them at the same load per replica"},
       of_fleet(&Fleet::simulated)},
      {"attainment",
       {kShare, kHigher, "share of judged requests of the simulated replicas that met every objective"},
       of_fleet([](const Fleet& f) { return f.probe ? f.probe->attainment.share : kNone; })},
      {"attainment_lower",
       {kShare, kHigher, "one-sided lower confidence bound of that attainment"},
       "attainment",
       of_fleet(lower),
       of_fleet([=](const Fleet& f) {
         return at_least(lower(f)) + (f.subset() ? fmt::format(" (of {})", f.simulated) : std::string());
       })}};
  if (placement) fields.back().header.reset();
  return fields;
}

}  // namespace kvsim::results
