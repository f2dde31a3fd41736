// Plan of a sweep, as its journal's first line and its results say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/sweep/design.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::sweep {

/// A part of the points, for several machines: those whose number leaves `number - 1` when divided by `of`.
struct Shard {
  std::size_t number = 1;  ///< from 1
  std::size_t of = 1;

  [[nodiscard]] bool holds(std::size_t point) const { return point % of == number - 1; }
  [[nodiscard]] bool whole() const { return of == 1; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Reads "2/3". Throws schema::InputError (`--shard: ...`).
Shard parse_shard(std::string_view text);
/// "2/3".
std::string to_string(const Shard& shard);

struct Plan {
  std::string version;   ///< of kvsim
  std::string scenario;  ///< name of the base scenario
  std::string resolved;  ///< the base scenario with every default written out, YAML
  std::string requests;  ///< digest of the requests of the base scenario's trace; empty: it has none
  std::uint64_t seed = 1;
  std::int64_t replications = 1;
  Design design;
  Shard shard;
  std::vector<std::string> remarks{};  ///< on keys of the file that no point reads; they decide nothing

  /// The numbers of the shard's points.
  [[nodiscard]] std::vector<std::size_t> points() const;
};

/// The plan of a sweep over `base`, the scenario without any point's changes where that can be simulated.
Plan make_plan(const scenario::Scenario& base, Design design, Shard shard, std::string_view version);

/// Digest of everything that decides a figure of the sweep, as 16 hexadecimal digits.
std::string fingerprint(const Plan& plan);

/// In what two plans differ, in words ("the axes", "cluster.gpu.memory_fraction of the scenario (0.9, now 0.8)");
/// empty where they are the same. Of scenarios it is the first key. The shard counts only with `shards_too`.
std::string difference(const Plan& a, const Plan& b, bool shards_too = true);

/// The plan as one line of JSON, without a line end; and back. `to_plan` throws std::exception for anything else.
std::string to_line(const Plan& plan);
Plan to_plan(std::string_view line);

// The base of a sweep: the scenario that its points change, which its journal and resolved.yaml hold. Only points run,
// so that it need not be workable itself: its trace may be missing, its model may not fit, its policies may not go
// together, as long as points put that right. Then the first point that can be simulated is the base in its place.

/// The scenario of a point. Throws UnworkableScenario where it cannot be simulated, InputError naming the point where
/// it is wrong.
scenario::Scenario load_point(const scenario::ScenarioFile& file, const Design& design, std::size_t point);

/// The base of the sweep, the same for all its shards. Throws schema::InputError for what no point puts right,
/// Infeasible where neither the scenario nor any point can be simulated.
scenario::Scenario base_of(const scenario::ScenarioFile& file, const Design& design);

}  // namespace kvsim::planner::sweep
