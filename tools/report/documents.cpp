#include "tools/report/documents.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "tools/output/results_folder.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"
#include "tools/results/sweep.h"

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

namespace fs = std::filesystem;
using schema::InputError;

/// Names that our commands give to results.
constexpr std::array<std::string_view, 3> kResultNames{"result.json", "plan.json", "sweep.json"};
constexpr std::size_t kLargest = std::size_t{1} << 30U;

/// All of a file or of a pipe ("<(kvsim run ... --json)").
std::string read_all(const std::string& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::character || type == fs::file_type::block) {
    throw InputError(fmt::format("{}: a device, not a file", path));  // it may have no end
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16U);
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargest) {
      throw InputError(fmt::format("{}: more than {} bytes, which are too many for a report", path, kLargest));
    }
  }
  return text;
}

Json parsed(const std::string& path) {
  // A document that is written out again is written by recursion.
  const auto not_too_deep = [&path](int depth, Json::parse_event_t, const Json&) {
    constexpr int deepest = 100;
    if (depth > deepest) throw InputError(fmt::format("{}: no result of kvsim: nested {} deep", path, depth));
    return true;
  };
  try {
    return Json::parse(output::read_checked(path, [&path] { return read_all(path); }), not_too_deep);
  } catch (const Json::parse_error& e) {
    throw InputError(fmt::format("{}: no JSON: it ends or goes wrong at byte {}", path, e.byte));
  } catch (const Json::out_of_range&) {
    throw InputError(fmt::format("{}: a number in it is too large to be held", path));
  }
}

/// All that is in the folder and in folders below, but for what kvsim keeps of them.
template <class Use>
void walk(const std::string& folder, const Use& use) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().filename() == output::kOwnFolder) it.disable_recursion_pending();
    use(*it);
  }
  if (error) throw InputError(fmt::format("{}: {}", folder, error.message()));
}

std::vector<std::string> results_in(const std::string& folder) {
  std::vector<std::string> found, with_sets;
  walk(folder, [&](const fs::directory_entry& entry) {
    if (entry.path().filename() == output::kOwnFolder) with_sets.push_back(entry.path().parent_path().string());
  });
  for (const std::string& set : with_sets) output::settle(set);  // which may give files their names
  walk(folder, [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (!entry.is_regular_file(ignored)) return;
    const std::string name = entry.path().filename().string();
    if (std::find(kResultNames.begin(), kResultNames.end(), name) != kResultNames.end()) {
      found.push_back(entry.path().string());
    }
  });
  if (found.empty()) {
    throw InputError(
        fmt::format("{}: no result.json, sweep.json or plan.json in this folder or below: run, compare, sweep, plan "
                    "and capacity write them with --out",
                    folder));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string policy_of(const Json& result) {
  const Json& policies = at(result, {"details", "policies"});
  if (std::string asked = text(policies, {"asked"}); !asked.empty()) return asked;
  // Policies come in the order of their effect: how prompts are put together, what is stored, how tokens are decoded.
  std::string name = has(result, {"answers"}) ? text(policies, {"prefill"}) : text(policies, {"placement"});
  const std::string decode = text(policies, {"decode"});
  if (name.empty()) return decode;
  return decode == "full_kv" ? name : name + ", " + decode;
}

/// The lines of one section of a scenario as kvsim writes it: from its name, which begins a line, to the next.
std::string section_of(const std::string& yaml, const std::string& section) {
  const std::size_t line = ("\n" + yaml).find("\n" + section + ":");
  if (line == std::string::npos) return {};
  std::size_t end = yaml.find('\n', line);
  while (end != std::string::npos && end + 1 < yaml.size() && yaml[end + 1] == ' ') end = yaml.find('\n', end + 1);
  return yaml.substr(line, end == std::string::npos ? end : end - line);
}

}  // namespace

Json resolved_section(const Json& document, const std::string& section) {
  std::string yaml = text(document, {"resolved_scenario"});
  if (yaml.empty()) yaml = text(document, {"details", "resolved_scenario"});
  const std::string part = section_of(yaml, section);
  if (part.empty()) return Json::object();
  try {
    return schema::to_json(schema::read_yaml(part, "resolved_scenario"));
  } catch (const schema::InputError&) {
    return Json::object();
  }
}

namespace {

/// The objectives whose limits `limit_of` knows by their keys, "ttft_p99".
template <class LimitOf>
std::vector<serving::SloObjective> objectives_with(const LimitOf& limit_of) {
  std::vector<serving::SloObjective> all;
  for (const serving::SloMetricEntry& entry : serving::kSloMetrics) {
    for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
      const std::optional<double> limit = limit_of(serving::slo_key(entry.metric, p));
      if (limit) all.push_back({entry.metric, p, *limit});
    }
  }
  return all;
}

/// Objectives in {"slo": ...}.
std::vector<serving::SloObjective> objectives_in(const Json& scenario) {
  return objectives_with([&scenario](const std::string& key) { return time_of(scenario, key); });
}

/// Words of the objectives in {"slo": ...}.
std::string words_of_objectives(const Json& scenario) {
  std::string said;
  for (const serving::SloObjective& o : objectives_in(scenario)) {
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", serving::slo_name(o), results::seconds(o.limit_s));
  }
  return said;
}

}  // namespace

std::vector<serving::SloObjective> objectives_of(const Json& document) {
  return objectives_in(resolved_section(document, "slo"));
}

std::vector<serving::SloObjective> searched_objectives(const Json& capacity) {
  const Json& slo = at(capacity, {"slo"});
  return objectives_with([&slo](const std::string& key) { return number(slo, {key + "_s"}); });
}

double time_of_column(const Json& row, const results::LatencyColumn& column) {
  if (const auto limited = number(row, {"measured_s", column.key}); limited && column.limited) return *limited;
  return number_or_nan(row, {column.key + "_s"});
}

std::string objectives_words(const Json& document) {
  const Json workload = resolved_section(document, "workload");
  const Json& classes = at(workload, {"workload", "classes"});
  std::string own;
  bool all_own = classes.is_array() && !classes.empty();
  for (const Json& one : classes) {
    if (!has(one, {"slo"})) {
      all_own = false;
    } else if (const std::string said = words_of_objectives(one); !said.empty()) {
      own += fmt::format("{}{} of class {}", own.empty() ? "" : ", ", said, text(one, {"name"}));
    }
  }
  std::string said = all_own ? std::string() : words_of_objectives(resolved_section(document, "slo"));
  if (!said.empty() && !own.empty()) said += ", ";
  return said + own;
}

std::string unsteady_state(const Json& result) {
  return text(result, {"requests", "unsteady_state"});
}

bool asks_for_service(const Json& document) {
  const Json scenario = resolved_section(document, "workload");
  return has(scenario, {"workload"}) && !has(scenario, {"workload", "closed"});
}

std::string draft_settings(const Json& document) {
  const Json scenario = resolved_section(document, "decode");
  const auto x = number(scenario, {"decode", "draft_length"}), c = number(scenario, {"decode", "keep_ratio"});
  return x && c ? fmt::format("x = {:g}, c = {:g}", *x, *c) : std::string();
}

namespace {

void check_version(const Json& document, const std::string& name) {
  const double version = *number(document, {"schema_version"});
  if (version == results::kSchemaVersion) return;
  throw InputError(fmt::format("{}: schema_version {:g} is {} than this kvsim, which knows {}", name, version,
                               version > results::kSchemaVersion ? "newer" : "older", results::kSchemaVersion));
}

}  // namespace

Kind kind_of(const Json& document, const std::string& name) {
  if (!document.is_object() || !number(document, {"schema_version"})) {
    throw InputError(fmt::format("{}: no result of kvsim: it has no schema_version", name));
  }
  check_version(document, name);
  for (const char* list : {"results", "points"}) {
    for (const Json& one : at(document, {list})) {
      const Json& result = one.contains("result") ? one.at("result") : one;
      if (number(result, {"schema_version"})) check_version(result, fmt::format("{}: in {}", name, list));
    }
  }
  const auto is = [&document](const char* key, Json::value_t type) {
    const auto it = document.find(key);
    return it != document.end() && it->type() == type;
  };
  if (is("configurations", Json::value_t::array)) return Kind::capacity;
  if (is("points", Json::value_t::array) && is("axes", Json::value_t::array)) return Kind::sweep;
  if (is("results", Json::value_t::array)) {
    return is("baseline", Json::value_t::string) ? Kind::compare : Kind::runs;
  }
  if (is("optimum", Json::value_t::object)) return Kind::plan;
  if (is("requests", Json::value_t::object) && is("throughput", Json::value_t::object)) return Kind::run;
  return Kind::other;
}

void Inputs::add(Json document, const std::string& name) {
  const Kind kind = kind_of(document, name);
  if (!seen.insert(document.dump()).second) return;
  const auto note = [this](const Json& one) {
    const std::string what = text(one, {"details", "interrupted"});
    if (!what.empty()) interrupted.push_back(fmt::format("{}: {}", text(one, {"scenario"}), what));
  };
  note(document);
  for (const Json& one : at(document, {"results"})) note(one);
  const auto simulated = [](Json results) {
    std::vector<Simulated> list;
    for (Json& result : results) {
      std::string policy = policy_of(result);
      list.push_back({std::move(result), std::move(policy)});
    }
    return list;
  };
  switch (kind) {
    case Kind::run: {
      std::string policy = policy_of(document);
      runs.push_back({std::move(document), std::move(policy)});
      return;
    }
    case Kind::runs:
      for (Simulated& one : simulated(std::move(document["results"]))) runs.push_back(std::move(one));
      return;
    case Kind::compare: {
      std::vector<Simulated> list = simulated(std::move(document["results"]));
      document.erase("results");
      if (list.empty()) throw InputError(fmt::format("{}: a comparison without results", name));
      compares.push_back({std::move(document), std::move(list)});
      return;
    }
    case Kind::sweep:
      sweeps.push_back(std::move(document));
      return;
    case Kind::plan:
      plans.push_back(std::move(document));
      return;
    case Kind::capacity:
      capacities.push_back(std::move(document));
      return;
    case Kind::other:
      others.push_back(std::move(document));
      return;
  }
}

std::set<std::string> scenarios_of(const Inputs& inputs) {
  std::set<std::string> names;
  for (const Inputs::Compared& c : inputs.compares) names.insert(text(c.document, {"scenario"}));
  for (const Simulated& run : inputs.runs) names.insert(text(run.result, {"scenario"}));
  for (const auto* list : {&inputs.plans, &inputs.capacities, &inputs.sweeps}) {
    for (const Json& document : *list) names.insert(text(document, {"scenario"}));
  }
  return names;
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      for (const std::string& file : results_in(path)) files.push_back(file);
    } else {
      files.push_back(path);
    }
  }
  return files;
}

Inputs read_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  for (const std::string& file : files_of(paths)) inputs.add(parsed(file), file);
  return inputs;
}

}  // namespace kvsim::report
