// Lines of a catalogue file. Internal to the writers of fitted profiles and links.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/kernels/profile.h"
#include "models/schema/member_value.h"
#include "models/schema/units.h"

namespace kvsim::models::lines {

inline std::string number(double value) {
  constexpr double kPlain = 1e4;
  if (value == std::floor(value) && std::abs(value) >= kPlain) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

inline std::string time(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  for (const Unit unit : {Unit{1, "s"}, Unit{1e-3, "ms"}, Unit{1e-6, "us"}}) {
    if (seconds >= unit.seconds) return fmt::format("{:.4g} {}", seconds / unit.seconds, unit.name);
  }
  return fmt::format("{:.4g} ns", seconds * kNsPerSecond);
}

/// A figure that is set in a scenario counts as measured.
inline std::string word(schema::SourceKind kind) {
  if (kind == schema::SourceKind::scenario) kind = schema::SourceKind::measurement;
  return schema::detail::source_kind_spec().write(static_cast<std::int64_t>(kind)).text();
}

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// Lines at an indentation below the entry's name.
class Writer {
 public:
  template <class... Args>
  void line(int level, fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(2 * level), ' ');
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  void source(int level, const schema::Source& s) {
    line(level, "source: {}", word(s.kind));
    line(level, "reference: {}", quoted(s.reference));
  }
  void error(int level, const std::optional<FormError>& e) {
    if (!e) return;
    const std::string models =
        e->models_median ? fmt::format(", models_median: {:.3g}, models_p90: {:.3g}", *e->models_median, *e->models_p90)
                         : "";
    line(level, "error: {{median: {:.3g}, p90: {:.3g}, held_out: {}{}}}", e->median, e->p90, e->held_out, models);
  }
  void figure(int level, const char* key, const std::string& value, const schema::Source& s) {
    line(level, "{}: {{value: {}, source: {}, reference: {}}}", key, value, word(s.kind), quoted(s.reference));
  }
  void curve(int level, const EfficiencyCurve& c) {
    line(level, "compute_efficiency:");
    std::vector<std::string> points;
    for (const EfficiencyPoint& p : c.points) {
      points.push_back(fmt::format("{{size: {}, efficiency: {}}}", number(p.size), number(p.efficiency)));
    }
    line(level + 1, "points: [{}]", fmt::join(points, ", "));
    source(level + 1, c.source);
  }
  void stream(int level, const CachedStream& s) {
    if (s.l2_efficiency > 0) {
      line(level, "stream: {{bandwidth_efficiency: {}, l2_efficiency: {}, l2_share: {}, l2_width: {}}}",
           number(s.bandwidth_efficiency), number(s.l2_efficiency), number(s.l2_share), number(s.l2_width));
    } else {
      line(level, "stream: {{bandwidth_efficiency: {}}}", number(s.bandwidth_efficiency));
    }
  }
  void tiles(int level, const std::vector<GemmTile>& tiles) {
    line(level, "tiles:");
    for (const GemmTile& t : tiles) {
      line(level + 1, "- {{rows: {}, columns: {}, efficiency: {}}}", number(t.rows), number(t.columns),
           number(t.efficiency));
    }
  }
  void points(int level, const char* key, const std::vector<TimePoint>& points) {
    line(level, "{}:", key);
    for (const TimePoint& p : points) {
      line(level + 1, "- {{size: {}, seconds: {}}}", number(p.size), time(p.seconds));
    }
  }
  void correction(int level, std::initializer_list<const char*> names, const Correction& c) {
    if (c.empty()) return;
    line(level, "correction:");
    std::size_t d = 0;
    for (const char* name : names) line(level + 1, "{}: [{}]", name, joined(c.axes[d++]));
    line(level + 1, "factors: [{}]", joined(c.factors));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static std::string joined(const std::vector<double>& values) {
    std::vector<std::string> words;
    for (const double v : values) words.push_back(number(v));
    return fmt::format("{}", fmt::join(words, ", "));
  }

  std::string text_;
};

}  // namespace kvsim::models::lines

namespace kvsim::models {

/// "profiles:" and the profile's entry.
[[nodiscard]] std::string profile_yaml(const KernelProfile& profile);

}  // namespace kvsim::models
