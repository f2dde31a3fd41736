#include "sim/scenario/keys_without_effect.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "models/schema/yaml.h"

namespace kvsim::scenario {
namespace {

using schema::ConfigNode;

/// Adds every value of a command line below `node`, and the first of the file.
void add_written(const ConfigNode& node, const std::string& path, const schema::UnreadKey& rule,
                 const std::string& file, std::vector<KeyWithoutEffect>& found) {
  if (node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) {
      add_written(entry.value, entry.key == "base" ? path : path + "." + entry.key, rule, file, found);
    }
    if (!node.entries().empty()) return;
  }
  const schema::Origin& origin = node.origin();
  if (origin.source().starts_with("--policies")) return;
  const bool in_file = origin.line() > 0 && origin.source() == file;
  const auto same = [&](const KeyWithoutEffect& key) { return in_file ? key.path == rule.path : key.path == path; };
  if (std::any_of(found.begin(), found.end(), same)) return;
  found.push_back({in_file ? rule.path : path, rule.why, origin, in_file});
}

/// `value` is as the field table writes it.
bool is_default(const schema::FieldInfo& field, const ConfigNode& value) {
  if (field.form == schema::Form::reference) return false;
  if (field.object == nullptr || field.list) return schema::to_flow_yaml(value) == field.default_text;
  if (!value.is_map()) return false;  // a shorthand
  return std::all_of(value.entries().begin(), value.entries().end(), [&field](const ConfigNode::Entry& entry) {
    const schema::FieldInfo* inner = field.object->find(entry.key);
    return inner != nullptr && is_default(*inner, entry.value);
  });
}

std::tuple<int, const std::string&> rank(const KeyWithoutEffect& key) {
  return {key.origin.line(), key.why};
}

schema::InputError complaint(const KeyWithoutEffect& key) {
  return {key.origin, key.path, "no effect: " + key.why};
}

}  // namespace

bool has_default(std::string_view path, const ConfigNode& value) {
  const schema::ObjectInfo* info = &scenario_schema().info();
  const schema::FieldInfo* field = nullptr;
  while (!path.empty() && info != nullptr) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    field = info->find(step);
    info = field != nullptr ? field->object.get() : nullptr;
  }
  return field != nullptr && path.empty() && is_default(*field, value);
}

std::vector<KeyWithoutEffect> keys_without_effect(const Scenario& scenario) {
  std::vector<KeyWithoutEffect> found;
  if (!scenario.document) return found;
  for (const schema::UnreadKey& rule : scenario_schema().unread_keys(written_out(scenario))) {
    const ConfigNode* node = scenario.document->find_path(rule.path);
    if (node != nullptr) add_written(*node, rule.path, rule, scenario.file, found);
  }
  // The document has what was written: a value that was read may be reset where nothing reads it.
  std::erase_if(found, [&scenario](const KeyWithoutEffect& key) {
    const ConfigNode* value = scenario.document->find_path(key.path);
    return key.in_file && value != nullptr && has_default(key.path, *value);
  });
  return found;
}

void UnreadByAll::add(const Scenario& scenario) {
  if (!open()) return;
  const std::vector<KeyWithoutEffect> own = keys_without_effect(scenario);
  if (!begun_) keys_ = own;
  begun_ = true;
  std::erase_if(keys_, [&own](KeyWithoutEffect& key) {
    const auto same =
        std::find_if(own.begin(), own.end(), [&key](const auto& other) { return other.path == key.path; });
    if (same == own.end()) return true;
    // In whatever order scenarios come, one of them gives the reason.
    if (rank(*same) < rank(key)) key = *same;
    return false;
  });
}

void UnreadByAll::refuse() const {
  schema::Mistakes refused;
  for (const KeyWithoutEffect& key : keys_) {
    if (!key.in_file) refused.add(complaint(key));
  }
  refused.raise();
}

std::vector<std::string> UnreadByAll::remarks() const {
  std::vector<KeyWithoutEffect> by_reason;  // keys of one reason are one remark
  for (const KeyWithoutEffect& key : keys_) {
    if (!key.in_file) continue;
    const auto same =
        std::find_if(by_reason.begin(), by_reason.end(), [&key](const auto& other) { return other.why == key.why; });
    if (same == by_reason.end()) {
      by_reason.push_back(key);
    } else {
      same->path += ", " + key.path;
    }
  }
  std::vector<std::string> remarks;
  for (const KeyWithoutEffect& key : by_reason) remarks.emplace_back(complaint(key).what());
  return remarks;
}

void refuse_if_set(const Scenario& scenario, std::span<const char* const> keys, const std::string& why,
                   WithinMap within) {
  std::vector<KeyWithoutEffect> found;
  for (const char* key : keys) {
    const ConfigNode* node = scenario.document ? scenario.document->find_path(key) : nullptr;
    if (node != nullptr) add_written(*node, key, {key, why}, scenario.file, found);
  }
  // "--set workload.arrivals.rate" is of workload.arrivals, and "--set workload" of more than that.
  const auto of_one = [&keys](std::string_view source) {
    const std::string path = std::string(source.substr(source.rfind(' ') + 1)) + ".";
    return std::any_of(keys.begin(), keys.end(),
                       [&path](const char* key) { return path.starts_with(std::string(key) + "."); });
  };
  const auto set = std::find_if(found.begin(), found.end(), [&](const KeyWithoutEffect& key) {
    return !key.in_file && (within == WithinMap::refused || of_one(key.origin.source()));
  });
  if (set != found.end()) throw complaint(*set);
}

}  // namespace kvsim::scenario
