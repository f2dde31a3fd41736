#include "tools/validation/group.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/validation/is_there.h"
#include "tools/validation/measured_data.h"
#include "validation_figures.h"

namespace kvsim::validation {
namespace {

/// An assumption that begins so stands for all those of a scenario.
constexpr std::string_view kAllOf = "all of ";
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Makes the figures of one file.
class Runner {
 public:
  Runner(std::string group, const FigureFile& file, const Inputs& inputs)
      : group_(std::move(group)), file_(file), inputs_(inputs), book_(file, inputs) {}

  std::vector<Figure> figures() {
    for (std::size_t i = 0; i < file_.sections.size(); ++i)
      add_section(fmt::format("sections.{}", i), file_.sections[i]);
    return std::move(figures_);
  }

 private:
  /// Does it with the parameters of every row; once without a table.
  template <class Action>
  void repeated(const std::string& path, const std::optional<TextTable>& table, const Parameters& outer,
                const Action& action) {
    if (!table) return action(outer);
    for (const Parameters& row : rows_of(file_, path + ".for", *table)) {
      Parameters parameters = outer;
      for (const auto& [column, cell] : row) parameters[column] = written(path, cell, outer);
      action(parameters);
    }
  }

  void add_section(const std::string& path, const SectionText& section) {
    const std::string missing = missing_data(section);
    if (!section.rows_of.empty()) {
      if (missing.empty()) return add_rows(path, section);
      Figure none;
      none.id = group_ + "/rows";
      none.what = "rows of " + section.rows_of;
      none.expected = none.simulated = kNaN;
      none.skipped = missing;
      figures_.push_back(std::move(none));
      return;
    }
    repeated(path, section.repeat, {}, [&](const Parameters& outer) {
      for (std::size_t i = 0; i < section.figures.size(); ++i) {
        const std::string at = fmt::format("{}.figures.{}", path, i);
        repeated(at, section.figures[i].repeat, outer,
                 [&](const Parameters& parameters) { add(at, section, section.figures[i], parameters, missing); });
      }
    });
  }

  /// A figure for each row of a measured table.
  void add_rows(const std::string& path, const SectionText& section) {
    std::string source;
    for (const CsvRow& row : read_csv(inputs_.measured + "/" + section.rows_of)) {
      Parameters parameters = row.fields;
      if (row.at("source") != "same") source = row.at("source");
      parameters["source"] = source;
      parameters["line"] = std::to_string(row.line);
      const auto fits = [&row](const FigureText& f) {
        return std::all_of(f.when.begin(), f.when.end(), [&row](const std::string& condition) {
          const auto colon = condition.find(": ");
          return row.at(condition.substr(0, colon)).find(condition.substr(colon + 2)) != std::string::npos;
        });
      };
      const auto found = std::find_if(section.figures.begin(), section.figures.end(), fits);
      if (found == section.figures.end()) continue;
      add(fmt::format("{}.figures.{}", path, found - section.figures.begin()), section, *found, parameters, "");
    }
  }

  /// Why the section's figures cannot be simulated; empty where they can.
  std::string missing_data(const SectionText& section) const {
    std::vector<std::string> needs = section.needs;
    if (!section.rows_of.empty()) needs.push_back(section.rows_of);
    for (const std::string& name : needs) {
      if (inputs_.measured.empty()) return kNoMeasuredData;
      if (!is_there(inputs_.measured + "/" + name)) {
        return fmt::format("the folder of measured data has no {}", name);
      }
    }
    return {};
  }

  void add(const std::string& path, const SectionText& section, const FigureText& text, const Parameters& parameters,
           const std::string& missing) {
    const std::string id = written(path + ".id", text.id, parameters);
    if (!id.starts_with(inputs_.beginning)) return;
    const auto words = [&](const char* key, const std::string& said) {
      return written(fmt::format("{}.{}", path, key), said, parameters);
    };
    // Without the data there is still what the file itself says.
    const auto number = [&](const char* key, const std::string& expression) {
      const std::string said = words(key, expression);
      const bool known = missing.empty() || said.find_first_not_of("0123456789.") == std::string::npos;
      return known ? located(file_, fmt::format("{}.{}", path, key), [&] { return book_.value(said); }) : kNaN;
    };
    constexpr std::size_t kMost = 44;
    Figure f;
    f.id = group_ + "/" + id;
    f.what = words("what", text.what);
    if (f.what.size() > kMost) f.what = f.what.substr(0, kMost - 3) + "...";
    f.unit = text.unit ? words("unit", *text.unit) : section.unit;
    f.source = words("source", text.source.value_or(section.source));
    f.measure = text.measure.value_or(section.measure);
    f.claim = text.claim.value_or(section.claim);
    const auto assume = [&](const std::vector<std::string>& all) {
      for (const std::string& said : all) {
        if (!said.starts_with(kAllOf)) {
          f.assumptions.push_back(words("assumptions", said));
        } else if (missing.empty()) {
          const auto& more = located(file_, path, [&] { return book_.assumptions_of(said.substr(kAllOf.size())); });
          f.assumptions.insert(f.assumptions.end(), more.begin(), more.end());
        }
      }
    };
    assume(section.assumptions);
    f.expected = text.expected.empty() ? kNaN : number("expected", text.expected);
    const std::string tolerance = text.tolerance.value_or(section.tolerance);
    if (!tolerance.empty()) f.tolerance = number("tolerance", tolerance);
    const std::string aim = text.aim.value_or(section.aim);
    if (!aim.empty()) f.aim = number("aim", aim);
    if (!text.within.empty()) {
      const double low = text.within[0], high = text.within[1];
      f.expected = (low + high) / 2;
      f.tolerance = std::floor((high - low) / (high + low) * 1e4) * 1e-4;  // never more than published
      f.assumptions.push_back(
          fmt::format("published as {} to {}: judged against the middle, within the range", low, high));
    }
    if (!text.below.empty()) {
      f.expected = number("below", text.below);
      f.claim = Claim::at_most;
      f.measure = Measure::absolute;
      f.tolerance = 0;
      if (!section.order.empty()) f.assumptions.push_back(section.order);
    }
    f.simulated = text.simulated.empty() ? kNaN : number("simulated", text.simulated);
    assume(text.assumptions);
    const bool judged = !text.skipped_where.empty() && number("skipped_where", text.skipped_where) == 0;
    f.skipped = !missing.empty() ? missing : judged ? "" : words("skipped", text.skipped);
    figures_.push_back(std::move(f));
  }

  std::string written(const std::string& path, const std::string& text, const Parameters& parameters) {
    return located(file_, path, [&] { return book_.text(text, parameters); });
  }

  std::string group_;
  const FigureFile& file_;
  const Inputs& inputs_;
  Book book_;
  std::vector<Figure> figures_;
};

/// Names and titles, without reading the files: every start of kvsim lists them.
std::vector<Group> carried_groups() {
  constexpr std::string_view kKey = "description: ";
  std::vector<Group> groups;
  for (const auto& [path, text] : embedded::validation_figures()) {
    const auto begin = text.find(kKey) + kKey.size();
    std::string description(text.substr(begin, text.find('\n', begin) - begin));
    std::erase(description, '"');
    groups.push_back({std::filesystem::path(path).stem().string(), std::move(description), path, text});
  }
  return groups;
}

}  // namespace

std::vector<Figure> figures_of(std::string_view text, const std::string& path, const Inputs& inputs) {
  const FigureFile file = read_figure_file(text, path);
  return Runner(std::filesystem::path(path).stem().string(), file, inputs).figures();
}

std::vector<Figure> Group::figures(const Inputs& inputs) const {
  return figures_of(text, std::string(path), inputs);
}

std::span<const Group> groups() {
  static const std::vector<Group> all = carried_groups();
  return all;
}

const Group& find_group(std::string_view name) {
  const auto found = std::find_if(groups().begin(), groups().end(), [name](const Group& g) { return g.name == name; });
  if (found != groups().end()) return *found;
  std::vector<std::string> names;
  for (const Group& g : groups()) names.push_back(g.name);
  throw schema::InputError(fmt::format("--group: unknown group \"{}\"{}", name, schema::suggest(name, names)));
}

}  // namespace kvsim::validation
