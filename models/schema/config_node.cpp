#include "models/schema/config_node.h"

#include <algorithm>
#include <utility>

#include "models/schema/text_number.h"

namespace kvsim::schema {

ConfigNode::ConfigNode() = default;
ConfigNode::ConfigNode(Origin origin) : origin_(std::move(origin)) {}
ConfigNode::ConfigNode(const ConfigNode&) = default;
ConfigNode::ConfigNode(ConfigNode&&) noexcept = default;
ConfigNode& ConfigNode::operator=(const ConfigNode&) = default;
ConfigNode& ConfigNode::operator=(ConfigNode&&) noexcept = default;
ConfigNode::~ConfigNode() = default;

ConfigNode ConfigNode::scalar(std::string text, bool quoted, Origin origin) {
  ConfigNode node(std::move(origin));
  node.kind_ = Kind::scalar;
  node.text_ = std::move(text);
  node.quoted_ = quoted;
  return node;
}

ConfigNode ConfigNode::sequence(Origin origin) {
  ConfigNode node(std::move(origin));
  node.kind_ = Kind::sequence;
  return node;
}

ConfigNode ConfigNode::map(Origin origin) {
  ConfigNode node(std::move(origin));
  node.kind_ = Kind::map;
  return node;
}

const ConfigNode::Entry* ConfigNode::find_entry(std::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  const Entry* entry = find_entry(key);
  return entry ? &entry->value : nullptr;
}

ConfigNode* ConfigNode::find(std::string_view key) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  return found == entries_.end() ? nullptr : &found->value;
}

void ConfigNode::set(std::string_view key, ConfigNode value, Origin key_origin) {
  if (ConfigNode* existing = find(key)) {
    *existing = std::move(value);
  } else {
    append(std::string(key), std::move(value), std::move(key_origin));
  }
}

void ConfigNode::append(std::string key, ConfigNode value, Origin key_origin) {
  entries_.push_back({std::move(key), std::move(value), std::move(key_origin)});
}

bool ConfigNode::erase(std::string_view key) {
  return std::erase_if(entries_, [&](const Entry& e) { return e.key == key; }) > 0;
}

const ConfigNode* ConfigNode::find_path(std::string_view path) const {
  const ConfigNode* node = this;
  while (node != nullptr && !path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    if (node->is_sequence()) {
      const auto index = number_from<std::size_t>(step);
      node = index && *index < node->items_.size() ? &node->items_[*index] : nullptr;
    } else {
      node = node->find(step);
    }
  }
  return node;
}

std::string ConfigNode::describe() const {
  constexpr std::size_t longest = 60;
  switch (kind_) {
    case Kind::null:
      return "nothing";
    case Kind::sequence:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  if (text_.size() <= longest) return '"' + text_ + '"';
  std::size_t cut = longest;  // not inside a UTF-8 sequence
  while (cut > 0 && (static_cast<unsigned char>(text_[cut]) & 0xC0U) == 0x80U) --cut;
  return '"' + text_.substr(0, cut) + "...\"";
}

bool operator==(const ConfigNode& a, const ConfigNode& b) {
  return a.kind_ == b.kind_ && a.text_ == b.text_ && a.items_ == b.items_ && a.entries_ == b.entries_;
}

}  // namespace kvsim::schema
