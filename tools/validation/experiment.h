// Results of experiments: published points beside simulated ones, and a verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/validation/experiment_file.h"
#include "tools/validation/runs.h"

namespace kvsim::validation {

enum class Outcome {
  reproduced,  ///< every published point is within its tolerance, every claim holds
  shape,       ///< order and direction of points are as published, and every claim holds
  off,
  cannot  ///< nothing of it can be simulated
};

std::string_view to_string(Outcome outcome);

struct Span {
  double low = 0, high = 0;
};

/// The least share of a published range's width that the values simulated of it take up.
inline constexpr double kLeastSpread = 0.5;

/// A point that is published and simulated.
struct JudgedPoint {
  std::string panel, series, at, place;
  std::size_t panel_index = 0;
  double low = 0, high = 0;  ///< published; equal where it is one figure
  double simulated = 0;
  double tolerance = 0;
  Evidence evidence = Evidence::prediction;
  bool of_range = false;         ///< low and high are those of several values, of which this is one
  std::optional<Span> spread{};  ///< of a range: the least and the greatest value simulated of it (set_spreads)

  /// (simulated - published) / |published|, of a range or bounds from the nearer end; 0 between them.
  [[nodiscard]] double error() const;
  /// Whether the values simulated of a range that is wider than the tolerance take up less than kLeastSpread of it.
  [[nodiscard]] bool narrow() const;
  /// The error is within the tolerance, and the range is not narrow.
  [[nodiscard]] bool within() const;
  /// |ln(simulated / published)|, of a range from its nearer end: what the criterion for free assumptions is a mean of.
  /// Infinite of what is not there, or has another sign.
  [[nodiscard]] double distance() const;
  [[nodiscard]] double middle() const { return (low + high) / 2; }
};

/// Gives each point of a range the spread of all points of its panel that have the same range.
void set_spreads(std::vector<JudgedPoint>& points);

/// Whether points of a panel lie to each other as published, and none on the other side of a level. Compared are points
/// of one series and points at one place, where what is published differs by more than the tolerance. No value where
/// nothing is.
std::optional<bool> in_order(const std::vector<JudgedPoint>& points, std::optional<double> level);

/// How an experiment counts. Agreement is evidence for the simulator only where it could have failed.
enum class Standing {
  predicted,   ///< reproduced, and at least half of its points are predictions
  fitted,      ///< reproduced; most points are fitted or inputs, of which no fewer are fitted
  inputs,      ///< reproduced; most points are inputs or fitted, of which more are inputs
  order_only,  ///< no figure is published but an order, which holds; or nothing but the order is as published (shape)
  off,
  cannot
};

inline constexpr Standing kStandings[] = {Standing::predicted,  Standing::fitted, Standing::inputs,
                                          Standing::order_only, Standing::off,    Standing::cannot};

std::string_view to_string(Standing standing);
Standing standing_of(Outcome outcome, const std::vector<JudgedPoint>& points);

struct JudgedClaim {
  std::string what, place;
  bool holds = false;
};

struct SimulatedSeries {
  std::string name;
  std::vector<double> values;  ///< by row of the panel's x axis
};

/// How near points lie to what is published.
struct Closeness {
  std::size_t points = 0, within = 0;
  double distance = 0;  ///< JudgedPoint::distance(), added up

  void add(const Closeness& other);
  /// 0 without points.
  [[nodiscard]] double mean() const;
};

Closeness closeness_of(const std::vector<JudgedPoint>& points);

struct Reproduced {
  const ExperimentFile* file = nullptr;
  std::vector<std::vector<SimulatedSeries>> panels;
  std::vector<JudgedPoint> points;
  std::vector<JudgedClaim> claims;
  std::vector<std::string> assumptions;
  std::string miss;  ///< filled in
  Outcome outcome = Outcome::cannot;

  /// With another value of a free assumption.
  struct Other {
    std::string name, value;
    Outcome outcome = Outcome::cannot;
    Closeness closeness;
  };
  std::vector<Other> others;

  /// The point that is furthest off; null where there is none.
  [[nodiscard]] const JudgedPoint* worst() const;
  [[nodiscard]] Standing standing() const { return standing_of(outcome, points); }
};

/// `points` by panel come with the panels' levels.
Outcome outcome_of(const std::vector<JudgedPoint>& points, const std::vector<JudgedClaim>& claims,
                   const std::vector<std::optional<double>>& levels);

/// Simulates and judges them. `sensitivity`: again with each alternative of each free assumption. Every file is asked
/// before anything is simulated. Throws schema::InputError; what is interrupted is said by `runs`.
std::vector<Reproduced> reproduce(const std::vector<ExperimentFile>& files, Runs& runs, bool sensitivity);

}  // namespace kvsim::validation
