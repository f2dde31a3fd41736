#include "models/schema/reference_page.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "models/schema/json_schema.h"
#include "models/schema/spelling.h"

namespace kvsim::schema {
namespace {

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", word);
  return out;
}

bool has_scalar(const FieldInfo& field) {
  return field.form == Form::scalar || field.form == Form::sourced;
}

/// The words of a field are listed below the table where they need explaining.
bool words_below(const FieldInfo& field) {
  const auto& words = field.scalar.words();
  return has_scalar(field) &&
         std::any_of(words.begin(), words.end(), [](const Word& w) { return !w.description.empty(); });
}

std::string scalar_text(const ScalarSpec& spec) {
  std::vector<std::string> words;
  for (const Word& word : spec.words()) words.push_back(word.name);
  switch (spec.kind()) {
    case ScalarSpec::Kind::text:
      return "text";
    case ScalarSpec::Kind::boolean:
      return "`true` or `false`";
    case ScalarSpec::Kind::choice:
    case ScalarSpec::Kind::name: {
      constexpr std::size_t few = 5;
      return words.size() <= few ? "one of " + quoted_list(words) : "one of the words below";
    }
    case ScalarSpec::Kind::quantity:
      break;
  }
  std::string out(dimension_name(spec.dimension()));
  const bool has_units = !dimension_units(spec.dimension()).empty();
  if (has_units) out += fmt::format(", such as `{}`", dimension_example(spec.dimension()));
  if (!words.empty()) out += ", or " + quoted_list(words);
  return out;
}

std::string items(std::size_t count) {
  return fmt::format("{} item{}", count, count == 1 ? "" : "s");
}

/// "at least 1 item", "2 to 4 items"; empty where a list may have any number.
std::string size_text(const ListSize& size) {
  const bool bounded = size.at_most != ListSize{}.at_most;
  if (!bounded) return size.at_least == 0 ? "" : "at least " + items(size.at_least);
  if (size.at_least == size.at_most) return items(size.at_most);
  if (size.at_least == 0) return "at most " + items(size.at_most);
  return fmt::format("{} to {}", size.at_least, items(size.at_most));
}

std::string range_text(const FieldInfo& field) {
  const std::string of_values = has_scalar(field) ? field.scalar.documented_range() : "";
  const std::string of_list = field.list ? size_text(field.size) : "";
  return of_values + (of_values.empty() || of_list.empty() ? "" : "; ") + of_list;
}

std::string default_cell(const FieldInfo& field) {
  if (field.required) return "required";
  return field.default_text.empty() ? "" : "`" + field.default_text + "`";
}

/// Everything that a reader sees of the fields: two maps with the same are described once.
std::string signature(const ObjectInfo& info) {
  std::string out = info.shorthand;
  for (const KeyGroup& group : info.groups)
    out += fmt::format("|{} {}", group.one_is_required, quoted_list(group.keys));
  for (const FieldInfo& field : info.fields) {
    out += fmt::format("|{}|{}|{}|{}|{}|{}", field.name, describe_value(field), range_text(field), default_cell(field),
                       field.catalogue, field.description);
    for (const Word& word : field.scalar.words()) out += fmt::format("|{}|{}", word.name, word.description);
    if (field.object && field.form == Form::object) out += "{" + signature(*field.object) + "}";
  }
  return out;
}

}  // namespace

std::string describe_value(const FieldInfo& field) {
  std::string one;
  switch (field.form) {
    case Form::scalar:
      one = scalar_text(field.scalar);
      break;
    case Form::sourced:
      one = scalar_text(field.scalar) + "; may carry its source";
      break;
    case Form::object:
      one = "a map";
      break;
    case Form::reference:
      one = fmt::format("name of {}, or a map", with_article(field.catalogue));
      break;
  }
  return field.list ? "list, each item: " + one : one;
}

std::string table_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string anchor_of(std::string_view heading) {
  std::string out;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      out += '-';
    }
  }
  return out;
}

std::string ReferencePage::value_cell(const FieldInfo& field) const {
  std::string text = describe_value(field);
  std::string title;
  if (field.form == Form::object) {
    const auto described = titles_.find(signature(*field.object));
    if (described != titles_.end()) title = described->second;
  } else if (field.form == Form::reference) {
    if (const auto kind = catalogues_.find(field.catalogue); kind != catalogues_.end()) title = kind->second;
  }
  return title.empty() ? text : fmt::format("{} ([{}](#{}))", text, title, anchor_of(title));
}

std::string ReferencePage::words(const FieldInfo& field, const std::string& title) {
  std::string list;
  for (const Word& word : field.scalar.words()) list += fmt::format("- `{}`: {}\n", word.name, word.description);
  const auto [described, is_new] = words_.emplace(list, title);
  if (is_new) return fmt::format("\nWords of `{}`:\n\n{}", field.name, list);
  return fmt::format("\nWords of `{}`: as in [{}](#{}).\n", field.name, described->second,
                     anchor_of(described->second));
}

std::string ReferencePage::table(const ObjectInfo& info, const std::string& title) {
  std::string out = info.description + "\n\n";
  for (const KeyGroup& group : info.groups) {
    out += fmt::format("{} one of {}.\n\n", group.one_is_required ? "Exactly" : "At most", quoted_list(group.keys));
  }
  if (!info.shorthand.empty()) out += fmt::format("A single value in place of the map means `{}`.\n\n", info.shorthand);
  out += "| key | value | range | default | meaning |\n|---|---|---|---|---|\n";
  for (const FieldInfo& field : info.fields) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name, table_cell(value_cell(field)),
                       table_cell(range_text(field)), table_cell(default_cell(field)), table_cell(field.description));
  }
  for (const FieldInfo& field : info.fields) {
    if (words_below(field)) out += words(field, title);
  }
  return out;
}

void ReferencePage::add(const ObjectInfo& info, const std::string& title, const std::string& prefix) {
  if (titles_.emplace(signature(info), title).second) describe(info, title, prefix);
}

void ReferencePage::describe(const ObjectInfo& info, const std::string& title, const std::string& prefix) {
  std::vector<const FieldInfo*> described_below;
  for (const FieldInfo& field : info.fields) {
    if (field.form != Form::object) continue;
    if (titles_.emplace(signature(*field.object), prefix + field.name).second) described_below.push_back(&field);
  }
  sections_.push_back({title, table(info, title)});
  for (const FieldInfo* field : described_below) {
    describe(*field->object, prefix + field->name, prefix + field->name + ".");
  }
}

std::string make_markdown(const ObjectInfo& info, int level) {
  ReferencePage page;
  page.add(info, info.name);
  std::string out;
  for (const ReferencePage::Section& section : page.sections()) {
    out += fmt::format("{} {}\n\n{}\n", std::string(static_cast<std::size_t>(std::max(level, 1)), '#'), section.title,
                       section.text);
  }
  return out;
}

}  // namespace kvsim::schema
