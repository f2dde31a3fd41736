#include "planner/sweep/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "models/schema/config_node.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "planner/infeasible.h"

namespace kvsim::planner::sweep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kJournalVersion = 3;

/// FNV-1a, 64 bits, over any number of texts and numbers.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  void add(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(number >> shift));
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

std::string digest_of(const std::vector<models::RequestSpec>& requests) {
  Digest digest;
  for (const models::RequestSpec& r : requests) {
    digest.add(r.arrival_ns);
    digest.add(r.prompt_tokens);
    digest.add(r.output_tokens);
    if (r.session >= 0) {
      digest.add(r.session);
      digest.add(r.think_ns);
    }
    for (const std::uint64_t block : r.prefix_blocks) digest.add(static_cast<std::int64_t>(block));
  }
  return digest.text();
}

Json to_json(const Plan& plan) {
  Json axes = Json::array();
  for (const Axis& axis : plan.design.axes()) axes.push_back({{"path", axis.path}, {"values", axis.values}});
  Json json{{"schema_version", kJournalVersion},
            {"kvsim_version", plan.version},
            {"scenario", plan.scenario},
            {"seed", plan.seed},
            {"replications", plan.replications},
            {"design", design_name(plan.design.kind())},
            {"points", plan.design.size()},
            {"shard", to_string(plan.shard)},
            {"axes", std::move(axes)}};
  if (plan.design.kind() != DesignKind::grid) json["chosen"] = plan.design.chosen();
  json["requests"] = plan.requests;
  json["resolved"] = plan.resolved;
  return json;
}

/// First key in which two configurations differ.
struct FirstDifference {
  std::string path;
  const schema::ConfigNode* before = nullptr;  ///< null: there is none
  const schema::ConfigNode* now = nullptr;
};

/// No value where they are the same.
std::optional<FirstDifference> first_difference(const schema::ConfigNode& a, const schema::ConfigNode& b,
                                                const std::string& path) {
  const auto below = [&path](std::string_view step) {
    return path.empty() ? std::string(step) : fmt::format("{}.{}", path, step);
  };
  if (a == b) return std::nullopt;
  if (a.is_map() && b.is_map()) {
    for (const auto& [key, value, origin] : a.entries()) {
      const schema::ConfigNode* other = b.find(key);
      if (!other) return FirstDifference{below(key), &value, nullptr};
      if (auto found = first_difference(value, *other, below(key))) return found;
    }
    for (const auto& [key, value, origin] : b.entries()) {
      if (!a.find(key)) return FirstDifference{below(key), nullptr, &value};
    }
  } else if (a.is_sequence() && b.is_sequence()) {
    for (std::size_t i = 0; i < std::min(a.items().size(), b.items().size()); ++i) {
      if (auto found = first_difference(a.items()[i], b.items()[i], below(std::to_string(i)))) return found;
    }
  }
  return FirstDifference{path, &a, &b};
}

std::string found_there(const schema::ConfigNode* node) {
  if (!node) return "not there";
  return node->is_scalar() ? node->text() : node->describe();
}

std::string difference_of_scenarios(const std::string& a, const std::string& b) {
  try {
    const schema::ConfigNode before = schema::read_yaml(a, "before"), now = schema::read_yaml(b, "now");
    const auto found = first_difference(before, now, "");
    if (!found || found->path.empty()) return "the scenario";
    return fmt::format("{} of the scenario ({}, now {})", found->path, found_there(found->before),
                       found_there(found->now));
  } catch (const schema::InputError&) {
    return "the scenario";  // a journal may hold anything
  }
}

}  // namespace

Shard parse_shard(std::string_view text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, shard.number);
  bool right = first == std::errc{} && slash != end && *slash == '/';
  if (right) {
    const auto [stopped, second] = std::from_chars(slash + 1, end, shard.of);
    right = second == std::errc{} && stopped == end;
  }
  if (!right || shard.number < 1 || shard.number > shard.of || shard.of > kMostPoints) {
    throw schema::InputError(fmt::format("--shard: expected k/n with 1 <= k <= n such as 2/3, found \"{}\"", text));
  }
  return shard;
}

std::string to_string(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.of);
}

std::vector<std::size_t> Plan::points() const {
  std::vector<std::size_t> result;
  for (std::size_t i = shard.number - 1; i < design.size(); i += shard.of) result.push_back(i);
  return result;
}

Plan make_plan(const scenario::Scenario& base, Design design, Shard shard, std::string_view version) {
  Plan plan;
  plan.version = version;
  plan.scenario = base.name;
  plan.resolved = scenario::resolved_yaml(base);
  if (base.trace) plan.requests = digest_of(*base.trace);
  plan.seed = base.serving.run.seed;
  plan.replications = base.replications;
  plan.design = std::move(design);
  plan.shard = shard;
  plan.remarks = base.remarks;
  return plan;
}

std::string fingerprint(const Plan& plan) {
  Digest digest;
  digest.add(to_json(plan).dump());
  return digest.text();
}

std::string difference(const Plan& a, const Plan& b, bool shards_too) {
  if (a.version != b.version) return fmt::format("the version of kvsim ({}, now {})", a.version, b.version);
  if (a.seed != b.seed) return fmt::format("the seed ({}, now {})", a.seed, b.seed);
  if (a.replications != b.replications) {
    return fmt::format("the replications ({}, now {})", a.replications, b.replications);
  }
  if (a.scenario != b.scenario || a.resolved != b.resolved) return difference_of_scenarios(a.resolved, b.resolved);
  if (a.requests != b.requests) return "the requests of the trace";
  if (!(a.design == b.design)) return "the axes";
  if (shards_too && !(a.shard == b.shard)) {
    return fmt::format("the shard ({}, now {})", to_string(a.shard), to_string(b.shard));
  }
  return {};
}

std::string to_line(const Plan& plan) {
  Json json = to_json(plan);
  json["fingerprint"] = fingerprint(plan);
  if (!plan.remarks.empty()) json["remarks"] = plan.remarks;
  return json.dump();
}

Plan to_plan(std::string_view line) {
  const Json json = Json::parse(line);
  if (json.at("schema_version") != kJournalVersion) {
    throw schema::InputError(fmt::format("a sweep's journal of schema_version {}; this kvsim knows {}",
                                         json.at("schema_version").dump(), kJournalVersion));
  }
  std::vector<Axis> axes;
  for (const Json& axis : json.at("axes")) axes.push_back({axis.at("path"), axis.at("values")});
  const DesignKind kind = design_kind(json.at("design").get<std::string>());
  std::vector<std::vector<std::uint32_t>> chosen;
  if (kind != DesignKind::grid) json.at("chosen").get_to(chosen);
  Plan plan;
  plan.version = json.at("kvsim_version");
  plan.scenario = json.at("scenario");
  plan.resolved = json.at("resolved");
  plan.requests = json.at("requests");
  plan.seed = json.at("seed");
  plan.replications = json.at("replications");
  plan.design = Design(kind, std::move(axes), std::move(chosen));
  plan.shard = parse_shard(json.at("shard").get<std::string>());
  plan.remarks = json.value("remarks", plan.remarks);
  if (json.at("fingerprint") != fingerprint(plan)) throw std::invalid_argument("its fingerprint is another one");
  return plan;
}

scenario::Scenario load_point(const scenario::ScenarioFile& file, const Design& design, std::size_t point) {
  try {
    return file.load(design.changes(point));
  } catch (const scenario::UnworkableScenario&) {
    throw;
  } catch (const schema::InputError& error) {
    if (design.axes().size() < 2) throw;
    throw schema::InputError(fmt::format("{} (point {}: {})", error.what(), point, design.describe(point)));
  }
}

scenario::Scenario base_of(const scenario::ScenarioFile& file, const Design& design) {
  std::string problem;
  try {
    return file.load();
  } catch (const schema::InputError& error) {
    problem = error.what();
  }
  std::string reason;  // of the first point that cannot be simulated
  for (std::size_t point = 0; point < design.size(); ++point) {
    try {
      return load_point(file, design, point);
    } catch (const scenario::UnworkableScenario& error) {
      if (reason.empty()) reason = error.reason();
    } catch (const schema::InputError& error) {
      // An error that occurs without any point's changes is not the point's fault.
      if (std::string_view(error.what()).starts_with(problem)) throw schema::InputError(problem);
      throw;
    }
  }
  throw Infeasible(fmt::format("no point of the sweep can be simulated; {}", reason));
}

}  // namespace kvsim::planner::sweep
