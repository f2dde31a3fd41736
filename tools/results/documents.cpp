#include "tools/results/documents.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "models/schema/reference_page.h"

namespace kvsim::results {
namespace {

constexpr std::string_view kItems = "[]";

Json type_of_key(const Unit& unit) {
  if (unit.name == kRequestsOrWord.name) return {"number", "string", "null"};
  if (unit.print != nullptr) return {"number", "null"};
  if (unit.name == kText.name) return {"string", "null"};
  if (unit.name == kTruth.name) return {"boolean", "null"};
  return {"object", "array", "null"};
}

Json schema_of_key(const Key& key) {
  const Unit& unit = key.meaning.unit;
  if (unit.name == kResult.name) return {{"$ref", "#/$defs/run"}};
  Json schema{{"description", key.meaning.sentence}};
  if (unit.name != kAny.name) schema["type"] = type_of_key(unit);
  if (unit.print == nullptr) return schema;
  schema["unit"] = unit.name;
  schema["better"] = word_of(key.meaning.better);
  return schema;
}

void require(Json& object, const std::string& step) {
  Json& names = object["required"];
  if (std::find(names.begin(), names.end(), step) == names.end()) names.push_back(step);
}

/// The schema of what `path` leads to. What it leads through is required in what holds it where `required`, unless it
/// is a key of its own, which says so itself.
Json& place_of_key(Json& schema, std::string_view path, bool required, const std::set<std::string>& declared) {
  const Json list = {"array", "null"};  // null where a figure is: details.reasons says why
  Json* at = &schema;
  std::string so_far;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    std::string step(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    so_far += (so_far.empty() ? "" : ".") + step;
    const std::string name = step.substr(0, step.find('['));
    const bool itself = path.empty() && name == step;
    if (required && name != "*" &&
        (itself || !declared.contains(so_far.substr(0, so_far.find_last_not_of(kItems) + 1)))) {
      require(*at, name);
    }
    at = name == "*" ? &(*at)["additionalProperties"] : &(*at)["properties"][name];
    if (at->is_null() && !itself) *at = {{"type", name == step ? Json("object") : list}};
    for (std::size_t items = name.size(); items < step.size(); items += kItems.size()) {
      at = &(*at)["items"];
      if (at->is_null() && !(path.empty() && items + kItems.size() == step.size())) {
        *at = {{"type", items + kItems.size() == step.size() ? Json("object") : list}};
      }
    }
  }
  return *at;
}

/// No other keys than those that are named.
void refuse_other_keys(Json& schema) {
  if (!schema.is_object()) return;
  if (schema.contains("items")) refuse_other_keys(schema["items"]);
  if (schema.contains("additionalProperties")) {
    refuse_other_keys(schema["additionalProperties"]);
  } else if (schema.contains("properties")) {
    schema["additionalProperties"] = false;
  }
  if (!schema.contains("properties")) return;
  for (auto& [key, inner] : schema["properties"].items()) refuse_other_keys(inner);
}

Json schema_of_keys(const KeyList& keys) {
  std::set<std::string> declared;
  for (const Key& key : keys) declared.insert(key.path);
  Json schema{{"type", "object"}};
  for (const Key& key : keys) place_of_key(schema, key.path, !key.optional, declared).update(schema_of_key(key));
  refuse_other_keys(schema);
  return schema;
}

std::string section_of_key(const Key& key) {
  const std::string first = key.path.substr(0, key.path.find_first_of(".["));
  return first == key.path ? "the document" : first;
}

std::string tables_of_keys(const KeyList& keys) {
  std::string out, section;
  for (const Key& key : keys) {
    if (section_of_key(key) != section) {
      section = section_of_key(key);
      out += fmt::format("\n### {}\n\n| key | unit | better | | there |\n|---|---|---|---|---|\n", section);
    }
    const Meaning& meaning = key.meaning;
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", key.path, meaning.unit.name,
                    meaning.unit.print != nullptr ? word_of(meaning.better) : "", schema::table_cell(meaning.sentence),
                    key.there.empty() && key.optional ? "sometimes" : key.there);
  }
  return out;
}

}  // namespace

Section document_head(Json& reasons) {
  Section head("", reasons);
  head.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  return head;
}

KeyList head_keys(const KeyList& keys) {
  KeyList all{{"schema_version", {kCount, "grows when a key changes its meaning or goes"}},
              {"kvsim_version", {kText, "the version of kvsim that wrote the document"}}};
  all.insert(all.end(), keys.begin(), keys.end());
  return all;
}

KeyList document_keys(const KeyList& keys) {
  KeyList all = head_keys(keys);
  all.push_back({"details.reasons.*", {kText, "why the figure of that path is null"}});
  return all;
}

Json results_schema(const std::vector<DocumentKind>& kinds) {
  Json any = Json::array(), definitions = Json::object();
  for (const DocumentKind& kind : kinds) {
    any.push_back({{"$ref", fmt::format("#/$defs/{}", kind.name)}});
    definitions[std::string(kind.name)] = schema_of_keys(kind.keys());
    definitions[std::string(kind.name)]["description"] = fmt::format("{} --json", kind.command);
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Results of kvsim"},
          {"anyOf", std::move(any)},
          {"$defs", std::move(definitions)}};
}

std::string results_page(const std::vector<DocumentKind>& kinds) {
  std::string out =
      R"(<!-- Generated by `kvsim schema --results --markdown > docs/results.md`. Do not edit: change tools/results. -->

# Results

Every key of every document that kvsim prints with `--json`, with its unit, which direction is better, and when it is there.
`*` stands for a name (of a link, a tier, a pool, a path, a policy), `[]` for the items of a list. A figure that does not exist
is null, and `details.reasons` says why. `kvsim list metrics` prints the numbers, but for those that were configured
(`details.policies`, `details.pools`, values of a sweep's axes); `kvsim schema --results` is the same as a JSON Schema.

`kvsim sweep --metric` takes the figures of a run with a direction, of the sections before `timeline` and but for those of the
wall clock; intervals go by the metric's key and `.half_width_95`. Over replications counts and times add up, samples follow
each other, peaks are the largest, means are weighted by time.
)";
  for (const DocumentKind& kind : kinds) {
    out += fmt::format("\n## {}: `{}`\n{}", kind.name, kind.command, tables_of_keys(kind.keys()));
  }
  return out;
}

}  // namespace kvsim::results
