#include "models/schema/overrides.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/text_number.h"
#include "models/schema/yaml.h"

namespace kvsim::schema {
namespace {

/// Copy of the tree with every position replaced by `origin`.
ConfigNode relocated(const ConfigNode& node, const Origin& origin) {
  switch (node.kind()) {
    case ConfigNode::Kind::null:
      return ConfigNode(origin);
    case ConfigNode::Kind::scalar:
      return ConfigNode::scalar(node.text(), node.quoted(), origin);
    case ConfigNode::Kind::sequence: {
      ConfigNode copy = ConfigNode::sequence(origin);
      for (const ConfigNode& item : node.items()) copy.items().push_back(relocated(item, origin));
      return copy;
    }
    case ConfigNode::Kind::map:
      break;
  }
  ConfigNode copy = ConfigNode::map(origin);
  for (const auto& entry : node.entries()) copy.append(entry.key, relocated(entry.value, origin), origin);
  return copy;
}

std::vector<std::string> split_path(std::string_view path, const Origin& origin) {
  std::vector<std::string> steps;
  while (true) {
    const auto dot = path.find('.');
    steps.emplace_back(path.substr(0, dot));
    if (steps.back().empty()) {
      throw InputError(origin, "a key is empty, expected key.key=value such as run.seed=7");
    }
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

ConfigNode& item_at(ConfigNode& list, const std::string& step, const Origin& origin) {
  const auto index = number_from<std::size_t>(step);
  if (!index) throw InputError(origin, fmt::format("\"{}\" is no item of a list, expected a number from 0", step));
  if (*index > list.items().size()) {
    throw InputError(origin, fmt::format("there is no item {}, the list has {}", *index, list.items().size()));
  }
  if (*index == list.items().size()) list.items().emplace_back(origin);
  return list.items()[*index];
}

/// The node at `step` below `node`, made where it is missing.
ConfigNode& descend(ConfigNode& node, const std::string& step, const Origin& origin) {
  if (node.is_sequence()) return item_at(node, step, origin);
  if (node.is_null()) node = ConfigNode::map(origin);
  if (node.is_scalar()) {
    ConfigNode map = ConfigNode::map(origin);
    map.append("base", std::move(node), origin);
    node = std::move(map);
  }
  if (node.find(step) == nullptr) node.append(step, ConfigNode(origin), origin);
  return *node.find(step);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos;
}

/// A figure with where it comes from, a curve or a law: meaningless in halves.
bool is_whole(const ConfigNode& node) {
  return node.find("value") != nullptr || node.find("points") != nullptr || node.find("law") != nullptr;
}

}  // namespace

void apply_set(ConfigNode& root, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(Origin(fmt::format("--set {}", assignment)), "expected key.key=value such as run.seed=7");
  }
  const std::string path(assignment.substr(0, equals));
  const Origin origin("--set " + path);
  const std::string_view text = assignment.substr(equals + 1);
  if (is_blank(text)) throw InputError(origin, "there is no value after \"=\"");
  assign(root, {path, std::string(text), origin});
}

void assign(ConfigNode& root, const Assignment& assignment) {
  const auto& [path, written, origin] = assignment;
  if (!written) return take_away(root, path);
  const std::string& text = *written;
  if (is_blank(text)) throw InputError(origin, path, "there is no value");
  const std::string name = origin.str();
  ConfigNode value;
  try {
    value = relocated(read_yaml(text, name), origin);
  } catch (const InputError& error) {
    // The position within the value means nothing to the user: keep the message alone.
    const std::string_view message(error.what());
    const std::size_t prefix = error.origin().str().size() + 2;
    throw InputError(origin, path, message.substr(std::min(prefix, message.size())));
  }
  ConfigNode* node = &root;
  for (const std::string& step : split_path(path, origin)) node = &descend(*node, step, origin);
  *node = std::move(value);
}

void take_away(ConfigNode& root, std::string_view path) {
  ConfigNode* parent = &root;
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    parent = parent->find(path.substr(0, dot));
    if (!parent) return;
    path.remove_prefix(dot + 1);
  }
  parent->erase(path);
}

ConfigNode merge(const ConfigNode& base, const ConfigNode& over) {
  if (!base.is_map() || !over.is_map() || is_whole(over)) return over;
  ConfigNode merged = base;
  for (const auto& entry : over.entries()) {
    const ConfigNode* existing = base.find(entry.key);
    if (existing == nullptr) {
      merged.append(entry.key, entry.value, entry.key_origin);
    } else {
      *merged.find(entry.key) = merge(*existing, entry.value);
    }
  }
  return merged;
}

}  // namespace kvsim::schema
