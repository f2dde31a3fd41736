#include "tools/validation/experiments_page.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/page/page.h"
#include "tools/results/documents.h"

namespace kvsim::validation {
namespace {

using results::Align;
using results::Cell;
using results::Table;

std::string published_text(const JudgedPoint& p) {
  return p.low == p.high ? results::figure(p.low)
                         : fmt::format("{} to {}", results::figure(p.low), results::figure(p.high));
}

results::Tone tone_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::reproduced:
      return results::Tone::good;
    case Outcome::off:
      return results::Tone::bad;
    case Outcome::cannot:
      return results::Tone::faint;
    case Outcome::shape:
      break;
  }
  return results::Tone::plain;
}

Cell outcome_cell(Outcome outcome) {
  Cell cell(to_string(outcome));
  cell.look = results::Look{tone_of(outcome)};
  return cell;
}

/// "Llama-70B, full KV 102 -> 96.1 (-5.8 %)".
std::string furthest(const Reproduced& r) {
  if (r.outcome == Outcome::cannot) return r.file->cannot;
  const JudgedPoint* p = r.worst();
  if (p == nullptr) return "";
  if (p->narrow() && std::abs(p->error()) <= p->tolerance) {
    return fmt::format("{}: {} published, {} to {} simulated ({} of its width)", p->series, published_text(*p),
                       results::figure(p->spread->low), results::figure(p->spread->high),
                       results::percent((p->spread->high - p->spread->low) / (p->high - p->low)));
  }
  return fmt::format("{}, {}: {} published, {} simulated ({})", p->series, p->at, published_text(*p),
                     results::figure(p->simulated), results::signed_percent(p->error()));
}

/// Number of points within, and of all; predictions alone, or all.
std::pair<std::size_t, std::size_t> within_of(const std::vector<JudgedPoint>& points, bool predictions) {
  std::size_t within = 0, all = 0;
  for (const JudgedPoint& p : points) {
    if (predictions && p.evidence != Evidence::prediction) continue;
    ++all;
    if (p.within()) ++within;
  }
  return {within, all};
}

std::string within_text(const std::vector<JudgedPoint>& points, bool predictions) {
  const auto [within, all] = within_of(points, predictions);
  return all == 0 ? std::string("-") : fmt::format("{} of {}", within, all);
}

std::string tally_text(const std::vector<Reproduced>& all) {
  std::vector<std::string> parts;
  for (const Standing s : kStandings) {
    const auto count = std::count_if(all.begin(), all.end(), [s](const Reproduced& r) { return r.standing() == s; });
    parts.push_back(fmt::format("{} {}", count, to_string(s)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "119 of 132 predicted points are within their tolerance; 100 more are fitted or inputs".
std::string points_text(const std::vector<Reproduced>& all) {
  std::vector<JudgedPoint> points;
  for (const Reproduced& r : all) points.insert(points.end(), r.points.begin(), r.points.end());
  const auto [within, predicted] = within_of(points, true);
  return fmt::format("{} of {} predicted points are within their tolerance; {} more are fitted or inputs", within,
                     predicted, points.size() - predicted);
}

constexpr const char* kVerdicts =
    "reproduced: every published point within its tolerance, ranges by their spread too, and every claim holds. shape: "
    "order and direction of points as published. off: neither. cannot: nothing of it can be simulated.";
constexpr const char* kCounts =
    "predicted: reproduced, and at least half of its points were not known to the simulator. fitted, inputs: "
    "reproduced, but most points are. order only: nothing but an order is published, or reproduced (shape).";

/// Figures of each paper by what they count as, and the points of all.
Table papers_table(const std::vector<Reproduced>& all) {
  Table t;
  t.title = "By paper";
  t.header = {"paper", "figures"};
  for (const Standing s : kStandings) t.header.emplace_back(to_string(s));
  t.header.insert(t.header.end(), {"points within", "predicted ones"});
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  std::vector<std::string> papers;
  for (const Reproduced& r : all) {
    if (std::find(papers.begin(), papers.end(), paper_of(*r.file)) == papers.end()) papers.push_back(paper_of(*r.file));
  }
  for (const std::string& paper : papers) {
    std::vector<JudgedPoint> points;
    std::array<std::size_t, std::size(kStandings)> counts{};
    std::size_t figures = 0;
    for (const Reproduced& r : all) {
      if (paper_of(*r.file) != paper) continue;
      ++figures;
      points.insert(points.end(), r.points.begin(), r.points.end());
      for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += r.standing() == kStandings[i] ? 1 : 0;
    }
    std::vector<Cell>& row = t.rows.emplace_back();
    row.emplace_back(paper);
    row.emplace_back(fmt::format("{}", figures));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      row.emplace_back(fmt::format("{}", counts[i]));
      if (kStandings[i] == Standing::off && counts[i] > 0) row.back().look = results::Look{results::Tone::bad};
    }
    row.emplace_back(within_text(points, false));
    row.emplace_back(within_text(points, true));
  }
  return t;
}

Table summary_table(const std::vector<Reproduced>& all, std::string title) {
  Table t;
  t.title = std::move(title);
  t.header = {"experiment", "verdict", "counts as", "place", "points within", "predicted ones", "furthest off"};
  t.align = {Align::left, Align::left, Align::left, Align::left, Align::right, Align::right, Align::left};
  for (const Reproduced& r : all) {
    t.rows.push_back({r.file->name, outcome_cell(r.outcome), std::string(to_string(r.standing())), r.file->place,
                      within_text(r.points, false), within_text(r.points, true), furthest(r)});
  }
  return t;
}

std::string place_text(const JudgedPoint& p) {
  if (p.within()) return "within";
  return std::abs(p.error()) <= p.tolerance ? "NARROW" : "OUTSIDE";
}

Table points_table(const Reproduced& r, std::string title) {
  Table t;
  t.title = std::move(title);
  t.header = {"panel", "series", "at", "published", "simulated", "error", "tolerance", "", "evidence", "place"};
  t.align = {Align::left,  Align::left,  Align::left, Align::right, Align::right,
             Align::right, Align::right, Align::left, Align::left,  Align::left};
  for (const JudgedPoint& p : r.points) {
    t.rows.push_back({p.panel, p.series, p.at, Cell(published_text(p), p.middle()),
                      Cell(results::figure(p.simulated), p.simulated), results::signed_percent(p.error()),
                      fmt::format("±{:g} %", p.tolerance * 100), place_text(p), std::string(to_string(p.evidence)),
                      p.place});
    t.rows.back()[7].look = results::Look{p.within() ? results::Tone::good : results::Tone::bad};
  }
  return t;
}

std::vector<std::string> claims_of(const Reproduced& r) {
  std::vector<std::string> lines;
  for (const JudgedClaim& c : r.claims) {
    lines.push_back(fmt::format("{}: {}{}", c.holds ? "holds" : "DOES NOT HOLD", c.what,
                                c.place.empty() ? "" : fmt::format(" ({})", c.place)));
  }
  return lines;
}

/// The values of free assumptions with which the verdict is another one, and how many leave it as it is.
std::vector<std::string> others_of(const Reproduced& r) {
  std::vector<std::string> lines;
  for (const Reproduced::Other& o : r.others) {
    if (o.outcome != r.outcome) lines.push_back(fmt::format("{} with {} = {}", to_string(o.outcome), o.name, o.value));
  }
  if (const std::size_t same = r.others.size() - lines.size(); same > 0) {
    lines.push_back(
        fmt::format("{} with {} other value{} of free assumptions", to_string(r.outcome), same, same == 1 ? "" : "s"));
  }
  return lines;
}

/// How near the points of a paper come with each value of its free assumptions, one changed at a time, and which
/// verdicts change. Nothing without --sensitivity.
std::vector<Table> dependence_tables(const std::vector<Reproduced>& all) {
  std::vector<const SharedFile*> papers;
  for (const Reproduced& r : all) {
    const bool seen = std::find(papers.begin(), papers.end(), r.file->paper.get()) != papers.end();
    if (!r.others.empty() && !seen) papers.push_back(r.file->paper.get());
  }
  std::vector<Table> tables;
  for (const SharedFile* paper : papers) {
    Table& t = tables.emplace_back();
    t.title = fmt::format("What depends on free assumptions, {}", paper->paper);
    t.header = {"assumption", "value", "", "mean |ln(simulated / published)|", "points within", "other verdicts"};
    t.align = {Align::left, Align::left, Align::left, Align::right, Align::right, Align::left};
    Closeness taken;
    for (const Reproduced& r : all) {
      if (r.file->paper.get() == paper) taken.add(closeness_of(r.points));
    }
    const auto row = [&t](const FreeAssumption& f, const std::string& value, const char* what, const Closeness& c,
                          const std::vector<std::string>& changed) {
      t.rows.push_back({f.name, value, what, Cell(fmt::format("{:.3f}", c.mean()), c.mean()),
                        fmt::format("{} of {}", c.within, c.points), fmt::format("{}", fmt::join(changed, ", "))});
    };
    for (const FreeAssumption& f : paper->free) {
      if (f.alternatives.empty()) continue;
      row(f, f.value, "taken", taken, {});
      for (const std::string& value : f.alternatives) {
        Closeness with;
        std::vector<std::string> changed;
        for (const Reproduced& r : all) {
          for (const Reproduced::Other& o : r.others) {
            if (r.file->paper.get() != paper || o.name != f.name || o.value != value) continue;
            with.add(o.closeness);
            if (o.outcome != r.outcome) changed.push_back(fmt::format("{} {}", r.file->name, to_string(o.outcome)));
          }
        }
        row(f, value, "", with, changed);
      }
    }
  }
  return tables;
}

/// Sentences on free assumptions, once a paper.
std::vector<std::string> shared_words(const std::vector<Reproduced>& all) {
  std::vector<std::string> lines;
  std::vector<const SharedFile*> seen;
  for (const Reproduced& r : all) {
    const SharedFile* paper = r.file->paper.get();
    if (paper == nullptr || std::find(seen.begin(), seen.end(), paper) != seen.end()) continue;
    seen.push_back(paper);
    lines.push_back(fmt::format("{}: free assumptions, the same in all figures; {}", paper->paper, paper->criterion));
    for (const FreeAssumption& f : paper->free) lines.push_back(fmt::format("{} = {}: {}", f.name, f.value, f.what));
  }
  return lines;
}

double as_number(const std::string& words) {
  double value = 0;
  std::from_chars(words.data(), words.data() + words.size(), value);
  return value;
}

plot::Chart chart_of(const Reproduced& r, std::size_t index, std::vector<std::string>& legend) {
  const PanelText& panel = r.file->panels[index];
  plot::Chart chart;
  chart.x_title = panel.x.title;
  chart.y_title = panel.y.title;
  if (panel.x.logarithmic) chart.x_scale = plot::ScaleKind::logarithmic;
  chart.shape = plot::Shape::marked_line;
  const std::vector<std::string> places = panel.x.places();
  for (const SimulatedSeries& s : r.panels[index]) {
    plot::Series& series = chart.series.emplace_back();
    series.label = s.name;
    for (std::size_t k = 0; k < places.size(); ++k) series.points.push_back({as_number(places[k]), s.values[k]});
    std::sort(series.points.begin(), series.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    legend.push_back(s.name + ", simulated");
  }
  for (const SeriesText& s : panel.series) {
    if (s.points.empty()) continue;
    plot::Series& series = chart.series.emplace_back();
    series.label = s.name + ", published";
    series.shape = plot::Shape::points;
    for (const JudgedPoint& p : r.points) {
      if (p.panel_index != index || p.series != s.name) continue;
      series.points.push_back({as_number(p.at), p.middle()});
      series.half_widths.push_back((p.high - p.low) / 2);
      series.tips.push_back(fmt::format("{}, {}: published {}", p.series, p.at, published_text(p)));
    }
    legend.push_back(series.label);
  }
  if (panel.y.level) chart.rules.push_back({*panel.y.level, false, "", false});
  return chart;
}

/// A bar of what is simulated, below it that of what is published.
plot::Bars bars_of(const Reproduced& r, std::size_t index, std::vector<std::string>& legend) {
  const PanelText& panel = r.file->panels[index];
  plot::Bars bars;
  bars.x_title = panel.y.title;
  const std::vector<std::string> places = panel.x.places();
  for (std::size_t k = 0; k < places.size(); ++k) {
    for (const SimulatedSeries& s : r.panels[index]) {
      const double value = s.values[k];
      if (!std::isfinite(value)) continue;
      const std::string label = fmt::format("{}, {}", places[k], s.name);
      bars.bars.push_back(
          {label, {{0, value, 0, label + ": simulated " + results::figure(value)}}, results::figure(value)});
      for (const JudgedPoint& p : r.points) {
        if (p.panel_index != index || p.series != s.name || p.at != places[k]) continue;
        bars.bars.push_back(
            {"published", {{0, p.middle(), 1, label + ": published " + published_text(p)}}, published_text(p)});
      }
    }
  }
  legend = {"simulated", "published"};
  return bars;
}

/// Anchor of its part of the page: letters, digits and dashes.
std::string id_of(const Reproduced& r) {
  std::string id = r.file->name;
  for (char& c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return id;
}

page::Plot plot_of(const Reproduced& r, std::size_t index) {
  const PanelText& panel = r.file->panels[index];
  page::Plot plot;
  plot.id = fmt::format("f-{}-{}", id_of(r), index + 1);
  plot.title = panel.title.empty() ? r.file->title : panel.title;
  plot.caption = "Simulated, and what is published beside it";
  const auto titled = [&](auto drawing) {
    drawing.title = plot.title;
    drawing.description = fmt::format("{}: {}", r.file->place, r.file->title);
    return drawing;
  };
  if (panel.x.named) {
    plot.drawing = titled(bars_of(r, index, plot.legend));
  } else {
    plot.drawing = titled(chart_of(r, index, plot.legend));
  }
  plot.data.add({panel.x.title, false});
  for (const SimulatedSeries& s : r.panels[index]) plot.data.add({s.name, true});
  const std::vector<std::string> places = panel.x.places();
  for (std::size_t k = 0; k < places.size(); ++k) {
    std::vector<Cell>& row = plot.data.rows.emplace_back();
    row.emplace_back(places[k]);
    for (const SimulatedSeries& s : r.panels[index]) row.emplace_back(results::figure(s.values[k]), s.values[k]);
  }
  return plot;
}

page::Section section_of(const Reproduced& r) {
  page::Section section;
  section.id = id_of(r);
  section.title = fmt::format("{}, {}: {} ({})", r.file->name, r.file->place, r.file->title, to_string(r.outcome));
  section.short_title = r.file->name;
  if (r.outcome == Outcome::cannot) {
    section.add(page::Prose{r.file->cannot});
    return section;
  }
  for (std::size_t i = 0; i < r.panels.size(); ++i) section.add(plot_of(r, i));
  section.add(points_table(r, "Published points"));
  section.add(page::List{"What the paper says in words", claims_of(r)});
  if (r.outcome != Outcome::reproduced && !r.miss.empty()) {
    section.add(page::List{"What would explain the miss", {r.miss}});
  }
  section.add(page::List{"Taken for granted in this figure", r.assumptions});
  section.add(page::List{"With other free assumptions", others_of(r)});
  return section;
}

}  // namespace

results::Page experiments_list(const std::vector<ExperimentFile>& files) {
  results::Page page;
  page.title = results::counted(files.size(), "experiment");
  Table t;
  t.header = {"name", "place", "title", "cannot be simulated"};
  t.align = {Align::left, Align::left, Align::left, Align::left};
  for (const ExperimentFile& f : files) t.rows.push_back({f.name, f.place, f.title, f.cannot});
  page.tables.push_back(std::move(t));
  return page;
}

results::Page experiments_text(const std::vector<Reproduced>& all) {
  results::Page page;
  page.title = tally_text(all);
  page.subtitle = {points_text(all)};
  const bool many = all.size() > page::kFirstRows;
  if (many) page.tables.push_back(papers_table(all));
  page.tables.push_back(summary_table(all, "Verdicts"));
  if (all.size() == 1 && !all.front().points.empty()) {
    page.first = {points_table(all.front(), "Points: " + all.front().file->name)};
  } else if (many) {
    std::vector<Reproduced> off;
    std::copy_if(all.begin(), all.end(), std::back_inserter(off),
                 [](const Reproduced& r) { return r.outcome == Outcome::off; });
    page.first = {papers_table(all), summary_table(off, "Verdict off")};
  }
  for (Table& table : dependence_tables(all)) page.tables.push_back(std::move(table));
  for (const Reproduced& r : all) {
    const std::string& name = r.file->name;
    const std::string title = fmt::format("Points: {}, {}: {}", name, r.file->title, to_string(r.outcome));
    if (!r.points.empty()) page.tables.push_back(points_table(r, title));
    page.lists.push_back({"What the paper says in words: " + name, claims_of(r)});
    if (r.outcome != Outcome::reproduced && !r.miss.empty()) {
      page.lists.push_back({"What would explain the miss: " + name, {r.miss}});
    }
    page.lists.push_back({"With other free assumptions: " + name, others_of(r)});
  }
  page.lists.push_back({"Free assumptions", shared_words(all)});
  return page;
}

results::Page experiments_page(const std::vector<Reproduced>& all) {
  results::Page page;
  page.title = "Published figures, reproduced";
  page.subtitle = {tally_text(all), points_text(all), kVerdicts, kCounts};
  page::Section summary;
  summary.id = "verdicts";
  summary.title = "Verdicts";
  if (all.size() > 1) summary.add(papers_table(all));
  summary.add(summary_table(all, "Verdicts"));
  summary.add(page::List{"Free assumptions", shared_words(all)});
  for (Table& table : dependence_tables(all)) summary.add(std::move(table));
  page.add(std::move(summary));
  for (const Reproduced& r : all) page.add(section_of(r));
  return page;
}

}  // namespace kvsim::validation
