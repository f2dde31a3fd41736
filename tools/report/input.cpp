#include "tools/report/input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/results/result_document.h"

namespace kvsim::report {
namespace {

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
  // What is written out again is written by recursion.
  const auto not_too_deep = [&path](int depth, Json::parse_event_t, const Json&) {
    constexpr int deepest = 100;
    if (depth > deepest) throw InputError(fmt::format("{}: no result of kvsim: nested {} deep", path, depth));
    return true;
  };
  try {
    return Json::parse(read_all(path), not_too_deep);
  } catch (const Json::parse_error& e) {
    throw InputError(fmt::format("{}: no JSON: it ends or goes wrong at byte {}", path, e.byte));
  } catch (const Json::out_of_range&) {
    throw InputError(fmt::format("{}: a number in it is too large to be held", path));
  }
}

std::vector<std::string> results_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!it->is_regular_file(error)) continue;
    if (std::find(kResultNames.begin(), kResultNames.end(), name) != kResultNames.end()) {
      found.push_back(it->path().string());
    }
  }
  if (error) throw InputError(fmt::format("{}: {}", folder, error.message()));
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
  // What makes the difference first: how prompts are put together, what is stored, how tokens are decoded.
  std::string name = has(result, {"answers"}) ? text(policies, {"prefill"}) : text(policies, {"placement"});
  const std::string decode = text(policies, {"decode"});
  if (name.empty()) return decode;
  return decode == "full_kv" ? name : name + ", " + decode;
}

}  // namespace

Kind kind_of(const Json& document, const std::string& name) {
  if (!document.is_object() || !number(document, {"schema_version"})) {
    throw InputError(fmt::format("{}: no result of kvsim: it has no schema_version", name));
  }
  const double version = *number(document, {"schema_version"});
  if (version > results::kSchemaVersion) {
    throw InputError(fmt::format("{}: schema_version {:g} is newer than this kvsim, which knows {}", name, version,
                                 results::kSchemaVersion));
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

Inputs read_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      for (const std::string& file : results_in(path)) inputs.add(parsed(file), file);
    } else {
      inputs.add(parsed(path), path);
    }
  }
  return inputs;
}

}  // namespace kvsim::report
