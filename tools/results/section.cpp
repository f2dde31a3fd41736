#include "tools/results/section.h"

#include <algorithm>

#include "models/schema/unseen.h"

namespace kvsim::results {

Section& Section::missing(std::string_view key, std::string_view reason) {
  (*reasons_)[join(key)] = reason;
  return set(key, nullptr);
}

Section& Section::set(std::string_view key, Json value) {
  object_[std::string(key)] = std::move(value);
  return *this;
}

namespace {

constexpr std::size_t kStep = 2;

void append_value(std::string& out, const Json& value, std::size_t indent);

void new_line(std::string& out, std::size_t indent) {
  out.append(1, '\n').append(indent, ' ');
}

void append_object(std::string& out, const Json& object, std::size_t indent) {
  out += '{';
  bool first = true;
  for (const auto& [key, member] : object.items()) {
    if (!first) out += ',';
    first = false;
    new_line(out, indent + kStep);
    out.append(schema::with_unseen_escaped(Json(key).dump())).append(": ");
    append_value(out, member, indent + kStep);
  }
  new_line(out, indent);
  out += '}';
}

void append_list(std::string& out, const Json& list, std::size_t indent) {
  const bool flat = std::none_of(list.begin(), list.end(), [](const Json& item) { return item.is_structured(); });
  out += '[';
  bool first = true;
  for (const Json& item : list) {
    if (!first) out += flat ? ", " : ",";
    first = false;
    if (!flat) new_line(out, indent + kStep);
    append_value(out, item, indent + kStep);
  }
  if (!flat) new_line(out, indent);
  out += ']';
}

void append_value(std::string& out, const Json& value, std::size_t indent) {
  if (value.is_object() && !value.empty()) {
    append_object(out, value, indent);
  } else if (value.is_array()) {
    append_list(out, value, indent);
  } else if (value.is_string()) {
    out += schema::with_unseen_escaped(value.dump());
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string json_text(const Json& document) {
  std::string out;
  append_value(out, document, 0);
  return out + '\n';
}

std::string_view kvsim_version() {
  return KVSIM_VERSION;
}

}  // namespace kvsim::results
