// Joint compression and eviction over tiers (EvicPress): gains over its baselines in the published set-up, and the
// shape of what it does.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "planner/experiment.h"
#include "tools/validation/groups/figure_rows.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/groups/published_scenarios.h"

namespace kvsim::validation {
namespace {

constexpr const char* kScenario = "scenarios/tiered_eviction/published.yaml";
constexpr const char* kPublished = "EvicPress: one 80 GB H100, 80 GB DRAM, 800 GB SSD, remote storage, 555 contexts";

using Settings = std::vector<std::string>;

struct Run {
  double ttft_s = 0;
  double quality = 0;
  double host_hits = 0, ssd_hits = 0;     ///< shares of all lookups
  double host_kept = 0, ssd_kept = 0;     ///< stored bytes / full bytes
  std::map<std::string, double> methods;  ///< share of the compressed contexts by method
};

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Run run_of(const Settings& policy, const Settings& machine) {
  Settings all = policy;
  all.insert(all.end(), machine.begin(), machine.end());
  const serving::Measurements m = planner::run_experiment(carried_scenario(kScenario, all)).measured;
  Run r;
  r.ttft_s = m.ttft_s.mean();
  r.quality = m.placement.quality.mean();
  const auto hits = [&](const char* tier) {
    const serving::TierMeasurement& t = m.tiers.at(tier);
    return share(static_cast<double>(t.hits), static_cast<double>(t.hits + t.misses));
  };
  const auto kept = [&](const char* tier) {
    const serving::TierContents& c = m.placement.contents.at(tier);
    return share(static_cast<double>(c.bytes), static_cast<double>(c.full_bytes));
  };
  r.host_hits = hits("host");
  r.ssd_hits = hits("ssd");
  r.host_kept = kept("host");
  r.ssd_kept = kept("ssd");
  double compressed = 0;
  for (const auto& [tier, contents] : m.placement.contents) {
    for (const auto& [option, objects] : contents.options) {
      if (option == "full") continue;
      r.methods[option.substr(0, option.find(' '))] += static_cast<double>(objects);
      compressed += static_cast<double>(objects);
    }
  }
  for (auto& [method, objects] : r.methods) objects = share(objects, compressed);
  return r;
}

Run utility(double alpha_s, const Settings& machine) {
  return run_of({"placement.policy=utility", fmt::format("placement.utility.alpha={} s", alpha_s)}, machine);
}

Run lru(const Settings& machine) {
  return run_of({"placement.policy=lru"}, machine);
}

Run compressed_lru(const char* method, double keep_ratio, const Settings& machine) {
  return run_of({"placement.policy=lru", fmt::format("placement.compressor={}", method),
                 fmt::format("placement.keep_ratio={}", keep_ratio)},
                machine);
}

/// Runs of policy utility, from the one that cares most for quality to the one that cares least.
std::vector<Run> utilities(const Settings& machine) {
  std::vector<Run> runs;
  for (const double alpha_s : {10.0, 5.0, 2.0, 1.0, 0.5, 0.2}) runs.push_back(utility(alpha_s, machine));
  return runs;
}

/// The fastest of them whose quality is no lower than that.
const Run& fastest(const std::vector<Run>& runs, double quality) {
  const Run* best = &runs.front();
  for (const Run& r : runs) {
    if (r.quality >= quality && r.ttft_s < best->ttft_s) best = &r;
  }
  return *best;
}

/// What most rows of the group take for granted.
std::vector<std::string> common_assumptions() {
  std::vector<std::string> said = carried_scenario(kScenario).assumptions;
  said.insert(said.end(),
              {"quality curves are generated from the published medians, not measured: docs/tiered_eviction.md",
               "alpha, which decides between quality and delay, is not published: the fastest of 10, 5, 2, 1, "
               "0.5 and 0.2 s whose quality is no lower than the baseline's"});
  return said;
}

constexpr const char* kWhatIsCompared =
    "published is only which is smaller; expected is the other one, simulated (shares of prompts, keep ratios, "
    "factors of TTFT at 7 GB/s SSD and Llama-3.1-8B; small KV: Qwen3-30B-A3B; fast SSD: 40 GB/s)";

class Rows : public FigureRows {
 public:
  Rows() : FigureRows("tiered-eviction", kPublished, common_assumptions(), kWhatIsCompared) {}
};

/// The gain over compression + LRU at a quality no lower, and over LRU at a quality of 97 % at least.
struct Gains {
  double equal_quality = 0, whole = 0;
};

Gains gains(const Settings& machine) {
  const std::vector<Run> runs = utilities(machine);
  const Run baseline = compressed_lru("keydiff", 0.75, machine);
  constexpr double kFloor = 0.97;
  return {baseline.ttft_s / fastest(runs, baseline.quality).ttft_s, lru(machine).ttft_s / fastest(runs, kFloor).ttft_s};
}

void add_gains(Rows& rows, const std::vector<Run>& runs, const Run& whole) {
  struct Baseline {
    const char* name;
    const char* method;
    double keep_ratio;
  };
  // Methods at one ratio have equal bytes, and so equal times: one of them for each.
  for (const Baseline& b : {Baseline{"keydiff75", "keydiff", 0.75}, Baseline{"knorm50", "knorm", 0.5}}) {
    const Run baseline = compressed_lru(b.method, b.keep_ratio, {});
    const Run& ours = fastest(runs, baseline.quality);
    rows.within(fmt::format("ttft.{}", b.name), fmt::format("TTFT of {} {} + LRU / utility", b.method, b.keep_ratio),
                1.43, 3.77, baseline.ttft_s / ours.ttft_s)
        .assumptions.push_back(
            fmt::format("quality {:.3f} of the baseline, {:.3f} of utility", baseline.quality, ours.quality));
    rows.less(fmt::format("ssd.{}", b.name), "found on SSD, beside that", baseline.ssd_hits, ours.ssd_hits);
    rows.less(fmt::format("dram.{}", b.name), "not found in DRAM, beside that", 1 - baseline.host_hits,
              1 - ours.host_hits);
  }
  const Run& careful = runs.front();  // alpha 10 s
  constexpr const char* kWhere =
      "alpha 10 s, at the quality of the next row: which quality within 3 % the published factors belong to is not "
      "published. With all of the 3 % given up kvsim finds more than the published range (the row after that, which is "
      "not judged; docs/findings.md, 11)";
  rows.within("ttft.lru", "TTFT of LRU / utility, alpha 10 s", 1.29, 2.19, whole.ttft_s / careful.ttft_s)
      .assumptions.emplace_back(kWhere);
  Figure& quality = rows.add("quality.lru", "quality of that", 1, careful.quality);
  quality.measure = Measure::absolute;
  quality.tolerance = 0.03;
  rows.prediction("ttft.lru.edge", "the same at a quality of 0.97", whole.ttft_s / fastest(runs, 0.97).ttft_s);
  rows.less("ssd.lru", "found on SSD, beside LRU whole", whole.ssd_hits, careful.ssd_hits);
  rows.less("dram.lru", "not found in DRAM, beside LRU whole", 1 - whole.host_hits, 1 - careful.host_hits);
}

Settings at_rate(double per_s) {
  constexpr double kWarmupRequests = 1500;
  return {fmt::format("workload.arrivals.rate={}/s", per_s), fmt::format("run.warmup={} s", kWarmupRequests / per_s)};
}

/// How many times the rate of the best baseline utility serves with the same TTFT, both at a quality of 0.8 or more.
void add_rate(Rows& rows) {
  constexpr double kBaselineRate = 2, kMost = 16, kQuality = 0.8;
  double target_s = lru(at_rate(kBaselineRate)).ttft_s;
  for (const char* method : {"keydiff", "knorm", "snapkv"}) {
    const Run baseline = compressed_lru(method, 0.5, at_rate(kBaselineRate));
    if (baseline.quality >= kQuality) target_s = std::min(target_s, baseline.ttft_s);
  }
  constexpr double kAlpha_s = 0.2;
  double served = kBaselineRate, missed = kMost;
  for (int step = 0; step < 7; ++step) {
    const double rate = (served + missed) / 2;
    const Run r = utility(kAlpha_s, at_rate(rate));
    (r.ttft_s <= target_s && r.quality >= kQuality ? served : missed) = rate;
  }
  Figure& f = rows.within("rate.equal_ttft", "rate of utility / best baseline", 2.0, 3.6, served / kBaselineRate);
  f.assumptions.push_back(
      fmt::format("baselines at {} requests/s: LRU whole, and with KeyDiff, Knorm and SnapKV at 0.5; "
                  "utility with alpha {} s, its rate by bisection",
                  kBaselineRate, kAlpha_s));
}

void add_shape(Rows& rows, const std::vector<Run>& runs) {
  for (const auto& [name, run] : {std::pair{"5s", &runs[1]}, std::pair{"1s", &runs[3]}}) {
    rows.less(fmt::format("kept.alpha{}", name), "kept on SSD, beside DRAM", run->host_kept, run->ssd_kept);
  }
  double largest = 0;
  for (const auto& [method, objects] : runs[1].methods) largest = std::max(largest, objects);
  Figure& mix = rows.less("methods", "commonest compression method", 0.6, largest);
  mix.assumptions.back() =
      "published: a mix of methods is in use; judged as none having more than 60 % of the compressed contexts";
}

void add_shrinking(Rows& rows, const Gains& published) {
  const Gains small = gains({"model=qwen3-30b-a3b"});
  const Gains close = gains({"cluster.storage.0.read=40 GB/s", "cluster.storage.0.write=40 GB/s"});
  rows.less("gain.small_kv", "gain over KeyDiff + LRU, small KV", published.equal_quality, small.equal_quality);
  rows.less("gain.small_kv.lru", "gain over LRU whole, small KV", published.whole, small.whole);
  rows.less("gain.close", "gain over KeyDiff + LRU, fast SSD", published.equal_quality, close.equal_quality);
  rows.less("gain.close.lru", "gain over LRU whole, fast SSD", published.whole, close.whole);
}

}  // namespace

std::vector<Figure> tiered_eviction_figures(const Inputs&) {
  Rows rows;
  const std::vector<Run> runs = utilities({});
  add_gains(rows, runs, lru({}));
  add_rate(rows);
  add_shape(rows, runs);
  add_shrinking(rows, gains({}));
  return rows.take();
}

}  // namespace kvsim::validation
