#include "tools/validation/figures_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/documents.h"

namespace kvsim::validation {
namespace {

constexpr std::size_t kVerdictColumn = 7;

using results::Align;
using results::Table;

/// Numbers for texts that rows refer to; equal texts have one number.
class Notes {
 public:
  std::size_t number(const std::string& text) {
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found != texts_.end()) return static_cast<std::size_t>(found - texts_.begin()) + 1;
    texts_.push_back(text);
    return texts_.size();
  }
  [[nodiscard]] std::vector<std::string> numbered() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < texts_.size(); ++i) lines.push_back(fmt::format("[{}] {}", i + 1, texts_[i]));
    return lines;
  }

 private:
  std::vector<std::string> texts_;
};

/// "1-4,7" for 1 2 3 4 7.
std::string ranges(std::vector<std::size_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

/// "+1.2 %"; of absolute errors the difference itself.
std::string error_text(const Figure& f) {
  const double error = f.error();
  if (f.measure == Measure::relative || !std::isfinite(error)) return results::signed_percent(error);
  return error == 0 ? "0" : fmt::format("{:+.3g}", error);
}

std::string tolerance_text(const Figure& f) {
  if (f.claim == Claim::none) return "-";
  const char* sign = f.claim == Claim::at_most ? "<=" : "±";
  if (f.measure == Measure::absolute) return fmt::format("{}{:g}", sign, f.tolerance);
  return fmt::format("{}{:g} %", sign, f.tolerance * 100);
}

/// The group's name with what it is about, where it is in the table of groups.
std::string title_of(std::string_view group) {
  for (const Group& g : groups()) {
    if (g.name == group) return fmt::format("{}: {}", g.name, g.description);
  }
  return std::string(group);
}

results::Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return results::Tone::good;
    case Verdict::outside:
      return results::Tone::bad;
    case Verdict::skipped:
      return results::Tone::faint;
    case Verdict::prediction:
      break;
  }
  return results::Tone::plain;
}

bool has_row(const Figure& f) {
  return f.skipped.empty() || std::isfinite(f.simulated);
}

/// Its id without the group.
std::string name_of(const Figure& f) {
  return f.id.substr(std::min(f.id.size(), f.group().size() + 1));
}

std::vector<results::Cell> row_of(const Figure& f, Notes& notes) {
  std::vector<std::size_t> numbers{notes.number(f.source)};
  for (const std::string& a : f.assumptions) numbers.push_back(notes.number(a));
  if (!f.skipped.empty()) numbers.push_back(notes.number("Not judged: " + f.skipped));
  return {name_of(f),
          f.what,
          results::figure(f.expected),
          results::figure(f.simulated),
          f.unit,
          error_text(f),
          tolerance_text(f),
          std::string(f.verdict() == Verdict::outside ? "OUTSIDE" : to_string(f.verdict())),
          ranges(std::move(numbers))};
}

/// "source: 2 of 5: a 0.05 (0.04), b 0.13 (0.12)", a line for each source of figures that are not as good as wanted.
std::vector<std::string> missed_aims(const std::vector<Figure>& figures) {
  struct Missed {
    std::string source;
    std::size_t aims = 0;
    std::vector<std::string> figures;
  };
  std::vector<Missed> by_source;
  for (const Figure& f : figures) {
    const std::optional<bool> met = f.aim_met();
    if (!met) continue;
    auto found =
        std::find_if(by_source.begin(), by_source.end(), [&](const Missed& m) { return m.source == f.source; });
    if (found == by_source.end()) found = by_source.insert(by_source.end(), {f.source, 0, {}});
    ++found->aims;
    if (!*met) found->figures.push_back(fmt::format("{} {:.3g} ({:g})", name_of(f), std::abs(f.error()), *f.aim));
  }
  std::vector<std::string> lines;
  for (const Missed& m : by_source) {
    if (m.figures.empty()) continue;
    lines.push_back(fmt::format("{}: {} of {}: {}", m.source, m.figures.size(), m.aims, fmt::join(m.figures, ", ")));
  }
  return lines;
}

/// "reason: a, b, c", a line for each reason, of figures without a row.
std::vector<std::string> without_rows(const std::vector<Figure>& figures) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const Figure& f : figures) {
    if (has_row(f)) continue;
    const auto found =
        std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& r) { return r.first == f.skipped; });
    if (found == by_reason.end()) {
      by_reason.push_back({f.skipped, {f.id}});
    } else {
      found->second.push_back(f.id);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, ids] : by_reason) {
    lines.push_back(fmt::format("{} ({}: {})", reason, ids.size(), fmt::join(ids, ", ")));
  }
  return lines;
}

std::string_view claim_word(const Figure& f) {
  switch (f.claim) {
    case Claim::about:
      return "about";
    case Claim::at_most:
      return "at_most";
    case Claim::none:
      return "none";
  }
  return "";
}

using results::kCount;
using results::kPlain;
using results::kText;

const results::Fields<Figure> kFigureFields{
    {"id", {kText, "name of the figure, group and all"}, &Figure::id},
    {"group", {kText, "which paper or measurement it belongs to"}, &Figure::group},
    {"what", {kText, "what the figure is of"}, &Figure::what},
    {"unit", {kText, "of expected and simulated; empty for counts and shares"}, &Figure::unit},
    {"expected", {kPlain, "as published or measured; null: a prediction"}, &Figure::expected},
    {"simulated", {kPlain, "what the simulator makes of it; null: not simulated"}, &Figure::simulated},
    {"error",
     {kPlain, "difference of what is simulated and what is expected, relative or absolute as measure says"},
     &Figure::error},
    {"measure",
     {kText, "whether the error is relative or absolute"},
     [](const Figure& f) { return f.measure == Measure::relative ? "relative" : "absolute"; }},
    {"claim",
     {kText, "about: the error is within the tolerance either way; at_most: not above it; none: a prediction"},
     claim_word},
    {"tolerance",
     {kPlain, "tolerance of the error; null: a prediction"},
     [](const Figure& f) { return f.claim == Claim::none ? results::kNone : f.tolerance; }},
    {"aim", {kPlain, "what is wanted of the error's size; null: nothing beside the tolerance"}, &Figure::aim},
    {"verdict",
     {kText, "pass, outside, skipped or prediction"},
     [](const Figure& f) { return to_string(f.verdict()); }},
    {"reason",
     {kText, "why the figure is not judged"},
     [](const Figure& f) { return f.skipped.empty() ? std::nullopt : std::optional(f.skipped); }},
    {"source", {kText, "where the expected figure is from"}, &Figure::source},
    results::Field<Figure>::values("assumptions[]", {kText, "what had to be taken for granted"},
                                   [](const Figure& f) { return results::Json(f.assumptions); })};

const results::Fields<Tally> kTallyFields{
    {"passed", {kCount, results::kHigher, "figures within their tolerance"}, &Tally::passed},
    {"outside", {kCount, results::kLower, "figures outside their tolerance"}, &Tally::outside},
    {"skipped", {kCount, results::kLower, "figures that are not judged"}, &Tally::skipped},
    {"predictions", {kCount, "figures that nothing is published or measured of"}, &Tally::predicted},
    {"aims", {kCount, "figures that are judged and of which more is wanted than their tolerance"}, &Tally::aims},
    {"aims_met", {kCount, results::kHigher, "of these, as good as is wanted"}, &Tally::aims_met}};

struct Validated {
  const std::vector<Figure>* figures;
  std::string measured;
};

const results::Fields<Validated>& validated_fields() {
  using F = results::Field<Validated>;
  static const results::Fields<Validated> fields{
      {"measured",
       {kText, "folder of the measured data; null: there was none"},
       [](const Validated& v) { return v.measured.empty() ? std::nullopt : std::optional(v.measured); }},
      F::part(
          "summary", "verdicts, counted", [](const Validated& v) { return tally(*v.figures); }, kTallyFields),
      F::list(
          "figures", "every figure", [](const Validated& v) -> const std::vector<Figure>& { return *v.figures; },
          kFigureFields)};
  return fields;
}

}  // namespace

std::string summary_line(const Tally& t) {
  std::string text = fmt::format("{} passed, {} outside, {} skipped", t.passed, t.outside, t.skipped);
  if (t.aims > 0) text += fmt::format("; {} of {} aims met", t.aims_met, t.aims);
  if (t.predicted > 0) text += fmt::format("; {} prediction{}", t.predicted, t.predicted == 1 ? "" : "s");
  return text;
}

results::Page figures_page(const std::vector<Figure>& figures, const std::string& measured) {
  results::Page page;
  page.title = summary_line(tally(figures));
  page.subtitle = {"Published and measured figures, and what kvsim makes of them"};
  if (!measured.empty()) page.subtitle.push_back("measured data from " + measured);
  Notes notes;
  for (const Figure& f : figures) {
    if (!has_row(f)) continue;
    const std::string title = title_of(f.group());
    if (page.tables.empty() || page.tables.back().title != title) {
      Table t;
      t.title = title;
      t.header = {"figure", "", "expected", "simulated", "", "error", "tolerance", "verdict", "notes"};
      t.align = {Align::left,  Align::left,  Align::right, Align::right, Align::left,
                 Align::right, Align::right, Align::left,  Align::left};
      page.tables.push_back(std::move(t));
    }
    results::Table& table = page.tables.back();
    table.rows.push_back(row_of(f, notes));
    table.rows.back()[kVerdictColumn].look = results::Look{tone_of(f.verdict())};
  }
  page.lists = {{"Aims that are missed", missed_aims(figures)},
                {"Skipped without being simulated", without_rows(figures)},
                {"Notes", notes.numbered()}};
  return page;
}

results::Json figures_document(const std::vector<Figure>& figures, const std::string& measured) {
  results::Json unread = results::Json::object();
  return filled(results::document_head(unread), validated_fields(), {&figures, measured}).take();
}

results::KeyList figures_keys() {
  return results::head_keys(keys_of(validated_fields()));
}

}  // namespace kvsim::validation
