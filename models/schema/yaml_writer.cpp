#include "models/schema/yaml.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/decimal.h"
#include "models/schema/unseen.h"

namespace kvsim::schema {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  ///< readers drop or refuse it unless it is escaped

bool is_bare_number(std::string_view text) {
  const auto split = split_number(text);
  return split && split->rest.empty() && !text.empty() && text.front() != ' ' && text.back() != ' ';
}

/// Words that some reader takes for null, a truth value or a special number.
bool is_special_word(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  constexpr std::array<std::string_view, 14> words{"",   "~",   "null", "true", "false", "yes",  "no",
                                                   "on", "off", "y",    "n",    ".inf",  ".nan", "-.inf"};
  return std::find(words.begin(), words.end(), lower) != words.end();
}

/// Safe without quotes in block and flow style alike: letters, digits and a few harmless signs.
bool is_plain(std::string_view text) {
  constexpr std::string_view inner = "_-./+*()%<>=;@~^";  // not the question mark: it ends a text in flow style
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & '\x80') != 0;
  };
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (text.find(byte_order_mark) != std::string_view::npos || with_unseen_escaped(text) != text) return false;
  const bool leads_well = is_word(text.front()) || text.front() == '/' ||
                          ((text.front() == '-' || text.front() == '.') && text.size() > 1 && is_word(text[1]));
  return leads_well && std::all_of(text.begin(), text.end(), [&](char c) {
           return is_word(c) || c == ' ' || inner.find(c) != std::string_view::npos;
         });
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i).starts_with(byte_order_mark)) {
      out += "\\uFEFF";
      i += byte_order_mark.size() - 1;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return with_unseen_escaped(out) + '"';
}

std::string scalar_text(const ConfigNode& node) {
  const std::string& text = node.text();
  if (!is_plain(text) || (node.quoted() && (is_bare_number(text) || is_special_word(text)))) return quote(text);
  return text;
}

std::string key_text(const std::string& key) {
  return is_plain(key) && !is_special_word(key) ? key : quote(key);
}

bool fits_on_a_line(const ConfigNode& node) {
  if (node.items().empty() && node.entries().empty()) return true;
  constexpr std::size_t width = 100;
  const bool flat = std::none_of(node.items().begin(), node.items().end(),
                                 [](const ConfigNode& item) { return item.is_sequence() || item.is_map(); });
  return node.is_sequence() && flat && to_flow_yaml(node).size() <= width;
}

void write_block(std::string& out, const ConfigNode& node, std::size_t indent);

/// The value of a key or a list item, after `key:` or `-`.
void write_value(std::string& out, const ConfigNode& node, std::size_t indent, bool in_list) {
  if (node.is_scalar() || node.is_null() || fits_on_a_line(node)) {
    out += ' ' + to_flow_yaml(node) + '\n';
  } else if (in_list && node.is_map()) {
    std::string block;
    write_block(block, node, indent);
    out += ' ' + block.substr(indent);  // the first key stands on the dash's line
  } else {
    out += '\n';
    write_block(out, node, indent);
  }
}

void write_block(std::string& out, const ConfigNode& node, std::size_t indent) {
  const std::string blanks(indent, ' ');
  for (const auto& entry : node.entries()) {
    out += blanks + key_text(entry.key) + ':';
    write_value(out, entry.value, indent + 2, false);
  }
  for (const ConfigNode& item : node.items()) {
    out += blanks + '-';
    write_value(out, item, indent + 2, true);
  }
}

}  // namespace

std::string to_flow_yaml(const ConfigNode& node) {
  std::string out;
  switch (node.kind()) {
    case ConfigNode::Kind::null:
      return "null";
    case ConfigNode::Kind::scalar:
      return scalar_text(node);
    case ConfigNode::Kind::sequence:
      for (const ConfigNode& item : node.items()) out += (out.empty() ? "" : ", ") + to_flow_yaml(item);
      return '[' + out + ']';
    case ConfigNode::Kind::map:
      break;
  }
  for (const auto& entry : node.entries()) {
    out += (out.empty() ? "" : ", ") + key_text(entry.key) + ": " + to_flow_yaml(entry.value);
  }
  return '{' + out + '}';
}

std::string to_yaml(const ConfigNode& node) {
  if (node.is_scalar() || node.is_null() || fits_on_a_line(node)) return to_flow_yaml(node) + '\n';
  std::string out;
  write_block(out, node, 0);
  return out;
}

nlohmann::ordered_json to_json(const ConfigNode& node) {
  using Node = nlohmann::ordered_json;
  switch (node.kind()) {
    case ConfigNode::Kind::null:
      return nullptr;
    case ConfigNode::Kind::sequence: {
      Node out = Node::array();
      for (const ConfigNode& item : node.items()) out.push_back(to_json(item));
      return out;
    }
    case ConfigNode::Kind::map: {
      Node out = Node::object();
      for (const auto& entry : node.entries()) out[entry.key] = to_json(entry.value);
      return out;
    }
    case ConfigNode::Kind::scalar:
      break;
  }
  const std::string& text = node.text();
  if (node.quoted()) return text;
  if (text == "true" || text == "false") return text == "true";
  if (!is_bare_number(text)) return text;
  const auto split = split_number(text);
  if (split->leading_zero) return text;
  if (const auto whole = to_integer(split->number, {}); whole && whole->exact) return whole->value;
  const auto real = to_double(split->number, {});
  return real ? Node(*real) : Node(text);
}

}  // namespace kvsim::schema
