#include "tools/results/compare_page.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/lossless.h"
#include "tools/results/machines.h"
#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"
#include "tools/results/reuse_results.h"
#include "tools/results/run_page.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double share(double part, double of) {
  return of > 0 ? part / of : kNone;
}

/// The busiest direction of a link.
double link_use(const Measurements& m) {
  double most = kNone;
  for (const auto& [name, link] : m.links) {
    const double use = share(link.busy_s, link.capacity_s);
    if (!(use <= most)) most = use;
  }
  return most;
}

std::string fidelity(const Outcome& o) {
  if (lossless(o.scenario)) return "lossless";
  const Measurements& m = o.result.measured;
  const auto finished = static_cast<double>(m.completed_measured);
  const double nats = share(m.kl_nats, finished);
  const double score = share(m.quality, finished);
  if (score == score) return fmt::format("{:.3f}", score);
  return nats == nats ? fmt::format("KL {}", figure(nats)) : "lossy";
}

std::string whole_percent(double of_one) {
  return of_one == of_one ? fmt::format("{:.0f} %", of_one * 100) : "-";
}

std::vector<std::string> row(std::string label, const Outcome& o, const Outcome& baseline) {
  const Measurements& m = o.result.measured;
  return {std::move(label),
          figure(output_tokens_per_s(o.result)),
          factor(speedup(o.result, baseline.result).value_or(kNone)),
          seconds(m.ttft_s.quantile(0.5)),
          seconds(m.tpot_s.mean()),
          seconds(m.round_gap_s.quantile(0.99)),
          m.rounds > 0 ? figure(share(static_cast<double>(m.accepted_tokens), static_cast<double>(m.rounds))) : "-",
          bytes(static_cast<double>(m.hbm_peak_bytes)),
          whole_percent(link_use(m)),
          whole_percent(share(m.busy_s, m.capacity_s)),
          fidelity(o)};
}

/// "host memory 80 GB, ssd 800 GB, remote without end".
std::string tiers_text(const serving::ServingConfig& c) {
  std::vector<std::string> tiers;
  if (c.placement->gpu_memory_bytes > 0) {
    tiers.push_back("GPU memory " + bytes(static_cast<double>(c.placement->gpu_memory_bytes)));
  }
  if (c.cluster.host_memory_bytes > 0) {
    tiers.push_back("host memory " + bytes(static_cast<double>(c.cluster.host_memory_bytes)));
  }
  for (const serving::StorageTierConfig& tier : c.cluster.storage) {
    tiers.push_back(tier.name + " " +
                    (tier.capacity_bytes ? bytes(static_cast<double>(*tier.capacity_bytes)) : "without end"));
  }
  return fmt::format("{}", fmt::join(tiers, ", "));
}

const Outcome* first_that_stores(const std::vector<Outcome>& outcomes) {
  const auto at = std::find_if(outcomes.begin(), outcomes.end(),
                               [](const Outcome& o) { return o.scenario.serving.placement.has_value(); });
  return at == outcomes.end() ? nullptr : &*at;
}

/// What the columns cannot say: replications, refusals, wall time.
std::vector<std::string> remarks(const std::vector<Outcome>& outcomes, bool timing) {
  const Outcome& first = outcomes.front();
  const auto& run = first.scenario.serving.run;
  std::string line =
      fmt::format("seed {}, {} replication{}; {} measured after {} of warm-up", run.seed, first.result.replications,
                  first.result.replications == 1 ? "" : "s",
                  seconds(first.result.measured.measured_s / static_cast<double>(first.result.replications)),
                  seconds(run.warmup_s));
  if (timing) {
    double wall = 0;
    for (const Outcome& o : outcomes) wall += o.result.wall_s;
    line += fmt::format("; {} of simulation", seconds(wall));
  }
  return {line};
}

/// One row per policy. Grouped, "draft_verify:staggered" becomes "staggered" below a line "draft_verify".
Table policy_table(const std::vector<Outcome>& outcomes, Labels labels) {
  Table t;
  t.header = {"policy",   "tokens/s", "speedup", "TTFT p50", "TPOT",  "gap p99",
              "accepted", "HBM",      "link",    "GPU",      "output"};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  t.align.back() = Align::left;
  std::string group;
  for (const Outcome& o : outcomes) {
    const std::size_t colon = o.policy.find(':');
    const bool grouped = labels == Labels::grouped && colon != std::string::npos;
    const std::string decode = grouped ? o.policy.substr(0, colon) : std::string();
    if (grouped && decode != group) t.rows.push_back({decode});
    group = decode;
    t.rows.push_back(row(grouped ? "  " + o.policy.substr(colon + 1) : o.policy, o, outcomes.front()));
  }
  return t;
}

}  // namespace

Page compare_page(const std::vector<Outcome>& outcomes, bool timing, Labels labels) {
  const Outcome& first = outcomes.front();
  const serving::ServingConfig& c = first.scenario.serving;
  Page page;
  page.title = first.scenario.name;
  page.subtitle = {fmt::format(
      "{} on {}; KV capacity {}{} tokens in {} blocks of {}, {}", c.model.name, machines_text(c.cluster),
      c.cluster.pools ? "of a node " : "", whole(first.result.capacity.tokens), whole(first.result.capacity.blocks),
      first.result.capacity.block_tokens, bytes(static_cast<double>(first.result.capacity.bytes)))};
  if (const Outcome* stores = first_that_stores(outcomes)) {
    page.subtitle.push_back(tiers_text(stores->scenario.serving));
  } else if (c.decode.compressor.name.empty()) {
    page.subtitle.emplace_back("no compressor");
  } else {
    page.subtitle.push_back(fmt::format("{}, keep ratio {:.4g}, draft length {}", c.decode.compressor.name,
                                        c.decode.keep_ratio, c.decode.draft_length));
  }
  for (std::string& line : remarks(outcomes, timing)) page.subtitle.push_back(std::move(line));

  if (first.scenario.workload.chunks) {
    std::vector<std::string> link;
    for (const Outcome& o : outcomes) link.push_back(whole_percent(link_use(o.result.measured)));
    page.tables = {reuse_table(outcomes, link)};
    page.lists = {reuse_columns(outcomes)};
    for (List& list : caveats(outcomes)) page.lists.push_back(std::move(list));
    return page;
  }
  if (c.placement) {
    std::vector<PlacementRow> rows;
    for (const Outcome& o : outcomes) rows.push_back({whole_percent(link_use(o.result.measured)), fidelity(o)});
    page.tables = {placement_table(outcomes, rows, labels)};
    page.lists = {placement_columns(outcomes)};
    for (List& list : caveats(outcomes)) page.lists.push_back(std::move(list));
    return page;
  }
  page.tables = {policy_table(outcomes, labels)};
  page.lists = {{"Columns",
                 {fmt::format("speedup: output tokens/s over those of {}", first.policy),
                  "TPOT: mean over requests; gap p99: between deliveries of tokens to a request",
                  fmt::format("accepted: drafted tokens per round, without the verifier's own; HBM: peak of a {}",
                              group_word(c.cluster)),
                  fmt::format("link: {}; GPU: share of time busy",
                              c.cluster.pools ? "the busiest" : "busier direction of the host link"),
                  "output: lossless, or task score relative to full KV (KL in nats per request where none is known)"}}};
  for (List& list : caveats(outcomes)) page.lists.push_back(std::move(list));
  return page;
}

}  // namespace kvsim::results
