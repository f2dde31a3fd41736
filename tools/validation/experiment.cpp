#include "tools/validation/experiment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/validation/book.h"

namespace kvsim::validation {
namespace {

int side(double value) {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/// Asks one file; some of the answers are NaN as long as runs are missing.
class Asker {
 public:
  Asker(const ExperimentFile& file, Runs& runs)
      : file_(file), inputs_{{}, {}, {}, file.folder}, book_(file, inputs_, &runs) {}

  Reproduced ask() {
    Reproduced r;
    r.file = &file_;
    std::vector<std::optional<double>> levels;
    for (std::size_t i = 0; i < file_.panels.size(); ++i) {
      levels.push_back(file_.panels[i].y.level);
      ask_panel(i, r);
    }
    for (std::size_t i = 0; i < file_.claims.size(); ++i) {
      const ClaimText& c = file_.claims[i];
      r.claims.push_back({c.what, c.place, number(fmt::format("claims.{}.holds", i), c.holds, {}) == 1});
    }
    for (std::size_t i = 0; i < file_.assumptions.size(); ++i) {
      r.assumptions.push_back(words(fmt::format("assumptions.{}", i), file_.assumptions[i]));
    }
    r.miss = words("miss", file_.miss);
    set_spreads(r.points);
    r.outcome = file_.cannot.empty() ? outcome_of(r.points, r.claims, levels) : Outcome::cannot;
    return r;
  }

 private:
  void ask_panel(std::size_t index, Reproduced& r) {
    const PanelText& panel = file_.panels[index];
    const std::string path = fmt::format("panels.{}", index);
    const std::vector<Parameters> rows = rows_of(file_, path + ".x.over", panel.x.over);
    const std::string first = split(panel.x.over.columns, '|').front();
    std::vector<SimulatedSeries>& all = r.panels.emplace_back();
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
      const SeriesText& text = panel.series[i];
      SimulatedSeries& series = all.emplace_back(SimulatedSeries{text.name, {}});
      for (const Parameters& row : rows) {
        series.values.push_back(number(fmt::format("{}.series.{}.simulated", path, i), text.simulated, row));
      }
      for (const PublishedPoint& point : text.points) {
        JudgedPoint judged{panel.title, text.name, point.at, point.place, index, point.low(), point.high()};
        judged.tolerance = point.tolerance ? *point.tolerance : *panel.tolerance;
        judged.of_range = !point.within.empty();
        judged.evidence = point.evidence.value_or(text.evidence.value_or(panel.evidence.value_or(file_.evidence)));
        for (std::size_t k = 0; k < rows.size(); ++k) {
          if (rows[k].at(first) == point.at) judged.simulated = series.values[k];
        }
        r.points.push_back(std::move(judged));
      }
    }
  }

  double number(const std::string& path, const std::string& expression, const Parameters& parameters) {
    return located(file_, path, [&] { return book_.value(book_.text(expression, parameters)); });
  }
  std::string words(const std::string& path, const std::string& text) {
    return located(file_, path, [&] { return book_.text(text, {}); });
  }

  const ExperimentFile& file_;
  Inputs inputs_;
  Book book_;
};

/// A file with another value of a free assumption.
struct Variant {
  std::size_t of = 0;
  std::string name, value;
  ExperimentFile file;
};

std::vector<Variant> variants_of(const std::vector<ExperimentFile>& files) {
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].paper || !files[i].cannot.empty()) continue;
    for (const FreeAssumption& f : files[i].paper->free) {
      for (const std::string& value : f.alternatives) {
        Variant& v = variants.emplace_back(Variant{i, f.name, value, files[i]});
        v.file.constants[f.name] = value;
      }
    }
  }
  return variants;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  constexpr std::array kWords{"reproduced", "shape", "off", "cannot"};
  return kWords.at(static_cast<std::size_t>(outcome));
}

std::string_view to_string(Standing standing) {
  constexpr std::array kWords{"predicted", "fitted", "inputs", "order only", "off", "cannot"};
  return kWords.at(static_cast<std::size_t>(standing));
}

double JudgedPoint::error() const {
  if (std::isnan(simulated)) return simulated;
  if (simulated >= low && simulated <= high) return 0;
  const double nearer = simulated < low ? low : high;
  if (nearer == 0) return std::copysign(std::numeric_limits<double>::infinity(), simulated);
  return (simulated - nearer) / std::abs(nearer);
}

bool JudgedPoint::narrow() const {
  return spread && high - low > tolerance * std::max(std::abs(low), std::abs(high)) &&
         spread->high - spread->low < kLeastSpread * (high - low);
}

bool JudgedPoint::within() const {
  return std::abs(error()) <= tolerance && !narrow();  // false of NaN
}

double JudgedPoint::distance() const {
  const double ratio = 1 + error();
  return ratio > 0 ? std::abs(std::log(ratio)) : std::numeric_limits<double>::infinity();  // NaN too
}

void Closeness::add(const Closeness& other) {
  points += other.points;
  within += other.within;
  distance += other.distance;
}

double Closeness::mean() const {
  return points > 0 ? distance / static_cast<double>(points) : 0;
}

Closeness closeness_of(const std::vector<JudgedPoint>& points) {
  Closeness all;
  for (const JudgedPoint& p : points) all.add({1, p.within() ? 1U : 0U, p.distance()});
  return all;
}

void set_spreads(std::vector<JudgedPoint>& points) {
  for (JudgedPoint& p : points) {
    if (!p.of_range || std::isnan(p.simulated)) continue;
    Span span{p.simulated, p.simulated};
    for (const JudgedPoint& other : points) {
      if (!other.of_range || other.panel_index != p.panel_index || other.low != p.low || other.high != p.high) continue;
      if (std::isnan(other.simulated)) continue;
      span = {std::min(span.low, other.simulated), std::max(span.high, other.simulated)};
    }
    p.spread = span;
  }
}

std::optional<bool> in_order(const std::vector<JudgedPoint>& points, std::optional<double> level) {
  std::optional<bool> ordered;
  const auto differ = [](double a, double b, double tolerance) {
    return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
  };
  const auto alike = [](double a, double b, double simulated_a, double simulated_b) {
    return side(a - b) == side(simulated_a - simulated_b);
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const JudgedPoint& a = points[i];
    // A side of the level alone is no order: it can only be the wrong one.
    if (level && differ(a.middle(), *level, a.tolerance) && !alike(a.middle(), *level, a.simulated, *level))
      return false;
    for (std::size_t k = i + 1; k < points.size(); ++k) {
      const JudgedPoint& b = points[k];
      if (a.series != b.series && a.at != b.at) continue;
      if (!differ(a.middle(), b.middle(), std::max(a.tolerance, b.tolerance))) continue;
      ordered = ordered.value_or(true) && alike(a.middle(), b.middle(), a.simulated, b.simulated);
    }
  }
  return ordered;
}

Outcome outcome_of(const std::vector<JudgedPoint>& points, const std::vector<JudgedClaim>& claims,
                   const std::vector<std::optional<double>>& levels) {
  const bool claimed = std::all_of(claims.begin(), claims.end(), [](const JudgedClaim& c) { return c.holds; });
  if (!claimed || points.size() + claims.size() == 0) return Outcome::off;
  if (std::all_of(points.begin(), points.end(), [](const JudgedPoint& p) { return p.within(); })) {
    return Outcome::reproduced;
  }
  bool compared = false;  // points, with each other: claims that hold are no shape of points that are off
  for (std::size_t panel = 0; panel < levels.size(); ++panel) {
    std::vector<JudgedPoint> own;
    std::copy_if(points.begin(), points.end(), std::back_inserter(own),
                 [panel](const JudgedPoint& p) { return p.panel_index == panel; });
    const std::optional<bool> ordered = in_order(own, levels[panel]);
    if (ordered == false) return Outcome::off;
    compared = compared || ordered.has_value();
  }
  return compared ? Outcome::shape : Outcome::off;
}

Standing standing_of(Outcome outcome, const std::vector<JudgedPoint>& points) {
  if (outcome == Outcome::cannot) return Standing::cannot;
  if (outcome == Outcome::off) return Standing::off;
  if (outcome == Outcome::shape || points.empty()) return Standing::order_only;
  const auto count = [&](Evidence evidence) {
    return std::count_if(points.begin(), points.end(),
                         [evidence](const JudgedPoint& p) { return p.evidence == evidence; });
  };
  const auto fitted = count(Evidence::fitted), inputs = count(Evidence::input);
  if (count(Evidence::prediction) >= fitted + inputs) return Standing::predicted;
  return fitted >= inputs ? Standing::fitted : Standing::inputs;
}

const JudgedPoint* Reproduced::worst() const {
  const JudgedPoint* worst = nullptr;
  const auto distance = [](const JudgedPoint& p) {
    if (std::isnan(p.error())) return std::numeric_limits<double>::infinity();
    return std::max(std::abs(p.error()) / p.tolerance, p.narrow() ? 1.0 : 0.0);
  };
  for (const JudgedPoint& p : points) {
    if (worst == nullptr || distance(p) > distance(*worst)) worst = &p;
  }
  return worst;
}

std::vector<Reproduced> reproduce(const std::vector<ExperimentFile>& files, Runs& runs, bool sensitivity) {
  const std::vector<Variant> variants = sensitivity ? variants_of(files) : std::vector<Variant>{};
  std::vector<std::unique_ptr<Asker>> askers, others;
  for (const ExperimentFile& file : files) askers.push_back(std::make_unique<Asker>(file, runs));
  for (const Variant& v : variants) others.push_back(std::make_unique<Asker>(v.file, runs));
  std::vector<Reproduced> all;
  try {
    do {
      all.clear();
      for (const auto& asker : askers) all.push_back(asker->ask());
      for (std::size_t i = 0; i < others.size(); ++i) {
        const Reproduced other = others[i]->ask();
        all[variants[i].of].others.push_back(
            {variants[i].name, variants[i].value, other.outcome, closeness_of(other.points)});
      }
    } while (runs.simulate_missing());
  } catch (const Runs::Stopped&) {
    all.clear();  // `runs` says so
  }
  return all;
}

}  // namespace kvsim::validation
