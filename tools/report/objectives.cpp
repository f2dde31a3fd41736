#include "tools/report/objectives.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/schema/yaml_reader.h"
#include "models/schema/yaml_writer.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

std::optional<double> time_of(const Json& scenario, std::string_view key) {
  const std::string said = text(scenario, {"slo", key});
  if (said.empty()) return std::nullopt;
  try {
    return schema::parse_time(said);
  } catch (const schema::UnitError&) {
    return std::nullopt;
  }
}

}  // namespace

Json resolved_scenario(const Json& document) {
  std::string yaml = text(document, {"resolved_scenario"});
  if (yaml.empty()) yaml = text(document, {"details", "resolved_scenario"});
  if (yaml.empty()) return Json::object();
  try {
    return schema::to_json(schema::read_yaml(yaml, "resolved_scenario"));
  } catch (const schema::InputError&) {
    return Json::object();
  }
}

Objectives objectives_of(const Json& document) {
  const Json scenario = resolved_scenario(document);
  return {time_of(scenario, "ttft_p99"), time_of(scenario, "tpot_p99")};
}

std::string objectives_words(const Json& document) {
  const Json scenario = resolved_scenario(document);
  std::string said;
  for (const auto& [key, name] :
       {std::pair{"ttft_p99", "TTFT p99"}, {"tpot_p99", "TPOT p99"}, {"itl_p99", "ITL p99"}, {"e2e_p99", "E2E p99"}}) {
    if (const auto limit = time_of(scenario, key)) {
      said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name, results::seconds(*limit));
    }
  }
  return said;
}

std::string draft_settings(const Json& document) {
  const Json scenario = resolved_scenario(document);
  const auto x = number(scenario, {"decode", "draft_length"}), c = number(scenario, {"decode", "keep_ratio"});
  return x && c ? fmt::format("x = {:g}, c = {:g}", *x, *c) : std::string();
}

AxisValues axis_values(const Json& axis) {
  AxisValues out;
  const Json& values = at(axis, {"values"});
  if (!values.is_array()) return {};
  for (const Json& value : values) {
    double number = 0;
    std::string unit;
    if (value.is_number()) {
      number = value.get<double>();
    } else if (value.is_string()) {
      const auto& said = value.get_ref<const std::string&>();
      const auto [rest, error] = std::from_chars(said.data(), said.data() + said.size(), number);
      if (error != std::errc{}) return {};
      unit.assign(rest, said.data() + said.size());
    } else {
      return {};
    }
    if (!out.values.empty() && unit != out.unit) return {};
    out.unit = unit;
    out.values.push_back(number);
  }
  if (out.unit.starts_with(' ')) out.unit.erase(0, 1);
  return out;
}

double figure_at(const Json& result, std::string_view path) {
  const Json* here = &result;
  while (true) {
    const std::size_t dot = path.find('.');
    here = &at(*here, {path.substr(0, dot)});
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return here->is_number() ? here->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace kvsim::report
