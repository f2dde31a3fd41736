#include "tests/scenario/schema_keys.h"

#include "sim/scenario/scenario.h"

namespace kvsim::testing {
namespace {

void walk(const schema::ObjectInfo& info, const std::string& prefix, bool of_an_entry, std::vector<ScenarioKey>& keys) {
  for (const schema::FieldInfo& field : info.fields) {
    const std::string key = prefix + field.name + (field.list ? "[]" : "");
    if (field.object) {
      walk(*field.object, key + ".", of_an_entry || field.form == schema::Form::reference, keys);
    } else {
      keys.push_back({key, field.default_text, of_an_entry});
    }
  }
}

}  // namespace

std::vector<ScenarioKey> scenario_keys() {
  std::vector<ScenarioKey> keys;
  walk(scenario::scenario_schema().info(), "", false, keys);
  return keys;
}

}  // namespace kvsim::testing
