#include "tools/validation/experiment_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "paper_experiments.h"
#include "tools/validation/is_there.h"

namespace kvsim::validation {
namespace {

using schema::Presence;
using schema::text;

constexpr std::string_view kFolder = "scenarios/papers/";
constexpr std::string_view kShared = "assumptions";

schema::ObjectSchema<FreeAssumption> free_schema() {
  schema::ObjectSchema<FreeAssumption> s("free", "What a paper leaves open.");
  s.required("name", &FreeAssumption::name, text().non_empty(), "of the parameter that experiments have it as");
  s.required("value", &FreeAssumption::value, text().non_empty(), "what it is taken for, in all figures");
  s.required("what", &FreeAssumption::what, text().non_empty(), "in words");
  s.list("alternatives", &FreeAssumption::alternatives, text(), Presence::optional,
         "with which verdicts are looked at again");
  return s;
}

schema::ObjectSchema<SharedFile> shared_schema() {
  schema::ObjectSchema<SharedFile> s("shared", "What the experiments of a paper have in common.");
  s.required("paper", &SharedFile::paper, text().non_empty(), "its title");
  s.required("criterion", &SharedFile::criterion, text().non_empty(), "by which the free assumptions were chosen");
  s.list("free", &SharedFile::free, free_schema(), Presence::optional, "what the paper leaves open");
  add_vocabulary(s);
  return s;
}

schema::ScalarSpec evidence_words() {
  return schema::choice<Evidence>(
      {{"prediction", Evidence::prediction, "nothing of it was known to the simulator"},
       {"fitted", Evidence::fitted, "a parameter or an assumption was chosen with this figure in view"},
       {"input", Evidence::input, "the simulator was given it, in the catalogue or as the set-up"}});
}

schema::ObjectSchema<PublishedPoint> point_schema() {
  schema::ObjectSchema<PublishedPoint> s("point", "A published point.");
  s.required("at", &PublishedPoint::at, text().non_empty(), "where on the x axis: a value of its first column");
  s.optional("is", &PublishedPoint::is, schema::number(), "the published figure");
  s.list("within", &PublishedPoint::within, schema::number(), Presence::optional,
         "published as a range of several values: low and high, judged by membership and by spread", {2, 2});
  s.list("between", &PublishedPoint::between, schema::number(), Presence::optional,
         "bounds that a single value lies between: low and high", {2, 2});
  s.exclusive({"is", "within", "between"});
  s.optional("tolerance", &PublishedPoint::tolerance, schema::number().positive(), "relative; else that of the panel");
  s.optional("evidence", &PublishedPoint::evidence, evidence_words(), "else that of the series");
  s.optional("place", &PublishedPoint::place, text(), "in the paper");
  return s;
}

schema::ObjectSchema<SeriesText> series_schema() {
  schema::ObjectSchema<SeriesText> s("series", "A line or a colour of the figure.");
  s.required("name", &SeriesText::name, text().non_empty(), "as in the legend");
  s.required("simulated", &SeriesText::simulated, text().non_empty(), "an expression over runs, terms and probes");
  s.optional("evidence", &SeriesText::evidence, evidence_words(), "of its points; else that of the panel");
  s.list("points", &SeriesText::points, point_schema(), Presence::optional, "that are published");
  return s;
}

schema::ObjectSchema<XAxisText> x_schema() {
  schema::ObjectSchema<XAxisText> s("x axis", "What is varied.");
  s.required("title", &XAxisText::title, text().non_empty(), "with its unit");
  s.optional("logarithmic", &XAxisText::logarithmic, schema::boolean(), "its scale");
  s.optional("named", &XAxisText::named, schema::boolean(), "values are names, not numbers");
  s.object("over", &XAxisText::over, table_schema(), Presence::required, "its values in the first column");
  return s;
}

schema::ObjectSchema<YAxisText> y_schema() {
  schema::ObjectSchema<YAxisText> s("y axis", "What is plotted.");
  s.required("title", &YAxisText::title, text().non_empty(), "with its unit");
  s.optional("level", &YAxisText::level, schema::number(),
             "on which side of it points lie is part of their order, as 1 of speedups");
  return s;
}

std::optional<double> number_in(const std::string& words) {
  double value = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  return error == std::errc() && end == words.data() + words.size() ? std::optional(value) : std::nullopt;
}

/// Whether `of` the first `count` of `items` is `name`.
template <typename Item, typename Of>
bool before(const std::vector<Item>& items, std::size_t count, const std::string& name, Of of) {
  return std::any_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const Item& item) { return std::invoke(of, item) == name; });
}

schema::ObjectSchema<PanelText> panel_schema() {
  schema::ObjectSchema<PanelText> s("panel", "One pair of axes.");
  s.optional("title", &PanelText::title, text(), "where the figure has several");
  s.object("x", &PanelText::x, x_schema(), Presence::required, "what is varied");
  s.object("y", &PanelText::y, y_schema(), Presence::required, "what is plotted");
  s.optional("tolerance", &PanelText::tolerance, schema::number().positive(), "of its points, relative");
  s.optional("evidence", &PanelText::evidence, evidence_words(), "of its points; else that of the experiment");
  s.list("series", &PanelText::series, series_schema(), Presence::required, "lines or colours", {1});
  s.check([](const PanelText& panel, const schema::Reporter& report) {
    const std::vector<std::string> places = panel.x.places();
    for (std::size_t r = 0; r < places.size(); ++r) {
      const std::string row = fmt::format("x.over.rows.{}", r);
      const std::optional<double> number = panel.x.named ? std::optional(1.0) : number_in(places[r]);
      if (!number) report.fail(row, fmt::format("\"{}\" is no number (named: true of names)", places[r]));
      if (number && panel.x.logarithmic && !(*number > 0)) {
        report.fail(row, fmt::format("{} has no place on a logarithmic axis", places[r]));
      }
      if (before(places, r, places[r], std::identity{}))
        report.fail(row, fmt::format("\"{}\" is there already", places[r]));
    }
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
      const SeriesText& series = panel.series[i];
      if (before(panel.series, i, series.name, &SeriesText::name)) {
        report.fail(fmt::format("series.{}.name", i), fmt::format("there is a series \"{}\" already", series.name));
      }
      for (std::size_t k = 0; k < series.points.size(); ++k) {
        const PublishedPoint& point = series.points[k];
        const std::string at = fmt::format("series.{}.points.{}", i, k);
        if (std::find(places.begin(), places.end(), point.at) == places.end()) {
          report.fail(at + ".at", fmt::format("point \"{}\" of {} is outside the axis \"{}\"{}", point.at, series.name,
                                              panel.x.title, schema::suggest(point.at, places)));
        }
        if (before(series.points, k, point.at, &PublishedPoint::at)) {
          report.fail(at + ".at", fmt::format("{} has a point at \"{}\" already", series.name, point.at));
        }
        if (!point.tolerance && !panel.tolerance) {
          report.fail(at, "no tolerance, expected one at the point or at its panel");
        }
        if (point.is == 0.0) report.fail(at + ".is", "0 has no relative tolerance, expected another figure or a claim");
        if (point.low() > point.high()) {
          report.fail(at + (point.within.empty() ? ".between" : ".within"), "expected low, then high");
        }
      }
    }
  });
  return s;
}

schema::ObjectSchema<ClaimText> claim_schema() {
  schema::ObjectSchema<ClaimText> s("claim", "What the paper says without a number.");
  s.required("what", &ClaimText::what, text().non_empty(), "in words");
  s.required("holds", &ClaimText::holds, text().non_empty(), "whether it does");
  s.optional("place", &ClaimText::place, text(), "in the paper");
  return s;
}

schema::ObjectSchema<ExperimentFile> experiment_schema() {
  schema::ObjectSchema<ExperimentFile> s("experiment", "A figure or table, simulated.");
  s.required("place", &ExperimentFile::place, text().non_empty(), "in the paper: Figure 11");
  s.required("title", &ExperimentFile::title, text().non_empty(), "what it shows");
  s.optional("cannot", &ExperimentFile::cannot, text().non_empty(), "why nothing of it can be simulated");
  s.optional("shares", &ExperimentFile::shares, text().non_empty(), "file beside it with what a paper has in common");
  s.optional("evidence", &ExperimentFile::evidence, evidence_words(), "of points that have none of their own");
  add_vocabulary(s);
  s.list("panels", &ExperimentFile::panels, panel_schema(), Presence::optional, "pairs of axes");
  s.list("claims", &ExperimentFile::claims, claim_schema(), Presence::optional, "what the paper says without a number");
  s.list("assumptions", &ExperimentFile::assumptions, text(), Presence::optional,
         "what is taken for granted in this figure");
  s.optional("miss", &ExperimentFile::miss, text(), "what explains that it is not reproduced");
  s.exclusive({"cannot", "panels"});
  s.check([](const ExperimentFile& file, const schema::Reporter& report) {
    const auto published = [](const SeriesText& series) { return !series.points.empty(); };
    const bool judged = !file.claims.empty() || std::any_of(file.panels.begin(), file.panels.end(), [&](const auto& p) {
      return std::any_of(p.series.begin(), p.series.end(), published);
    });
    if (file.cannot.empty() && !judged) report.fail("panels", "nothing to judge by, expected a point or a claim");
  });
  return s;
}

/// "vericache/fig11" of scenarios/papers/vericache/fig11.yaml.
std::string name_of(std::string path) {
  if (path.starts_with(kFolder)) path.erase(0, kFolder.size());
  return path.ends_with(".yaml") ? path.substr(0, path.size() - 5) : path;
}

}  // namespace

std::string_view to_string(Evidence evidence) {
  constexpr std::array kWords{"prediction", "fitted", "input"};
  return kWords.at(static_cast<std::size_t>(evidence));
}

std::vector<std::string> XAxisText::places() const {
  std::vector<std::string> places;
  for (const std::string& row : over.rows) {
    const std::vector<std::string> cells = split(row, '|');
    places.push_back(cells.empty() ? "" : cells.front());
  }
  return places;
}

SharedFile read_shared(schema::ConfigNode document) {
  static const schema::ObjectSchema<SharedFile> schema = shared_schema();
  SharedFile file = schema.parse(document);
  file.document = std::move(document);
  for (const FreeAssumption& f : file.free) file.constants[f.name] = f.value;
  return file;
}

ExperimentFile read_experiment(schema::ConfigNode document, const std::string& path,
                               std::shared_ptr<const SharedFile> shared) {
  static const schema::ObjectSchema<ExperimentFile> schema = experiment_schema();
  ExperimentFile file = schema.parse(document);
  file.document = std::move(document);
  file.name = name_of(path);
  if (!file.shares.empty() && !shared) {
    throw schema::InputError(file.origin_of("shares"), "shares", fmt::format("there is no {} beside it", file.shares));
  }
  if (!file.shares.empty()) {
    file.paper = shared;
    file.share(std::move(shared));
  }
  for (std::size_t i = 0; i < file.panels.size(); ++i) {
    static_cast<void>(rows_of(file, fmt::format("panels.{}.x.over", i), file.panels[i].x.over));
  }
  return file;
}

std::string paper_of(const ExperimentFile& file) {
  return file.name.substr(0, file.name.find('/'));
}

std::vector<ExperimentFile> carried_experiments() {
  std::map<std::string, std::shared_ptr<const SharedFile>> shared;
  for (const auto& [path, text] : embedded::paper_experiments()) {
    const std::filesystem::path p{path};
    if (p.stem() == kShared) {
      shared[p.parent_path().string()] =
          std::make_shared<SharedFile>(read_shared(schema::read_yaml(text, std::string(path))));
    }
  }
  std::vector<ExperimentFile> all;
  for (const auto& [path, text] : embedded::paper_experiments()) {
    const std::filesystem::path p{path};
    if (p.stem() == kShared) continue;
    all.push_back(read_experiment(schema::read_yaml(text, p.string()), p.string(), shared[p.parent_path().string()]));
  }
  return all;
}

ExperimentFile experiment_at(const std::string& path) {
  schema::ConfigNode document = schema::read_yaml_file(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::shared_ptr<const SharedFile> shared;
  if (const schema::ConfigNode* name = document.find_path("shares")) {
    const std::string beside = (folder / name->text()).string();
    if (is_there(beside)) {
      shared = std::make_shared<SharedFile>(read_shared(schema::read_yaml_file(beside)));
    }
  }
  ExperimentFile file = read_experiment(std::move(document), path, std::move(shared));
  file.folder = folder.empty() ? "." : folder.string();
  return file;
}

}  // namespace kvsim::validation
