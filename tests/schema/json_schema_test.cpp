// The generated JSON Schema and the parser agree on what a document may look like.
#include "models/schema/json_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/catalogue/catalogue.h"
#include "models/schema/yaml.h"
#include "tests/schema/cluster_example.h"
#include "tests/schema/json_validator.h"
#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

constexpr const char* documents[] = {
    // accepted
    "{memory: 80 GiB, arrivals: {rate: 0.5/s}}",
    "{memory: 80 GiB, arrivals: {rate: 30 req/min}, name: 2024, verbose: true}",
    "{memory: 1.5e3MB, arrivals: {closed: 1e1}, offloaded: all}",
    "{memory: 80 GiB, arrivals: {closed: 3}, offloaded: 0, policy: lock_step}",
    "{memory: 80 GiB, arrivals: {closed: 3}, context: 8k tokens}",
    "{memory: 80 GiB, arrivals: {closed: 3}, context: {mean: 8 Ki  tokens, cv: 1}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, window: {}, ratios: [0.5, 1]}",
    "{memory: 80 GiB, arrivals: {closed: 3}, storage: [{name: a, read: 1 GB/s}]}",
    "{memory: 80 GiB, arrivals: {closed: 3}, price: {value: 2 USD/h, source: assumption}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, price: {value: 2 USD/h, source: derived, reference: x}}",
    // refused
    "{arrivals: {rate: 0.5/s}}",
    "{memory: 80 GiB}",
    "{memory: 80 GiB, arrivals: {}}",
    "{memory: 80 GiB, arrivals: {rate: 1/s, closed: 1}}",
    "{memory: 80, arrivals: {closed: 3}}",
    "{memory: 80 gib, arrivals: {closed: 3}}",
    "{memory: -80 GiB, arrivals: {closed: 3}}",
    "{memory: 080 GiB, arrivals: {closed: 3}}",
    "{memory: 80 GB/s, arrivals: {closed: 3}}",
    "{memory: [80 GiB], arrivals: {closed: 3}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, memory_fraction: 1.5}",
    "{memory: 80 GiB, arrivals: {closed: 3}, memory_fraction: 0}",
    "{memory: 80 GiB, arrivals: {closed: 3}, memory_fraction: '0.5'}",
    "{memory: 80 GiB, arrivals: {closed: 3}, offloaded: most}",
    "{memory: 80 GiB, arrivals: {closed: 3}, offloaded: -1}",
    "{memory: 80 GiB, arrivals: {closed: 3}, offloaded: 1.5}",
    "{memory: 80 GiB, arrivals: {closed: 3}, policy: best}",
    "{memory: 80 GiB, arrivals: {closed: 3}, verbose: yes}",
    "{memory: 80 GiB, arrivals: {closed: 3}, verbose: 'true'}",
    "{memory: 80 GiB, arrivals: {closed: 3}, deadline: ~}",
    "{memory: 80 GiB, arrivals: {closed: 3}, polciy: fcfs}",
    "{memory: 80 GiB, arrivals: {closed: 3}, window: 3}",
    "{memory: 80 GiB, arrivals: {closed: 3}, window: {x: 1}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, ratios: 0.5}",
    "{memory: 80 GiB, arrivals: {closed: 3}, ratios: [x]}",
    "{memory: 80 GiB, arrivals: {closed: 3}, context: {cv: 1}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, context: 8000}",
    "{memory: 80 GiB, arrivals: {closed: 3}, storage: [{name: a}]}",
    "{memory: 80 GiB, arrivals: {closed: 3}, storage: [{name: '', read: 1 GB/s}]}",
    "{memory: 80 GiB, arrivals: {closed: 3}, storage: {name: a, read: 1 GB/s}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, price: {value: 2 USD/h}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, price: {value: 2 USD/h, source: derived}}",
    "{memory: 80 GiB, arrivals: {closed: 3}, price: {value: 2 USD/h, source: rumour}}",
    "[1]",
    "text",
};

TEST(JsonSchema, AgreesWithTheParserOnTheFormOfADocument) {
  const auto schema = example::cluster_schema();
  const auto json_schema = make_json_schema(schema.info());
  int accepted = 0;
  for (const char* text : documents) {
    const ConfigNode node = yaml(text);
    const std::string error = error_of([&] { return schema.parse(node); });
    EXPECT_EQ(json_is_valid(json_schema, to_json(node)), error == "no error") << text << "\nparser: " << error;
    accepted += error == "no error" ? 1 : 0;
  }
  EXPECT_EQ(accepted, 10);
}

TEST(JsonSchema, CarriesDescriptionsRangesAndDefaults) {
  const auto schema = make_json_schema(example::cluster_schema().info());
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["properties"]["memory_fraction"]["x-default"], "0.9");
  EXPECT_EQ(schema["properties"]["memory_fraction"]["maximum"], 1.0);
  EXPECT_EQ(schema["properties"]["memory"]["description"], "memory of one GPU (> 0 B)");
}

TEST(JsonSchema, AReferenceIsANameChangesOrAWholeEntry) {
  ObjectSchema<models::LlmSpec> entry("model", "");
  entry.optional("name", &models::LlmSpec::name, text(), "");
  entry.required("layers", &models::LlmSpec::layers, integer().positive(), "");
  struct Uses {
    models::LlmSpec model;
  };
  ObjectSchema<Uses> schema("uses", "");
  schema.reference("model", &Uses::model, "model", entry, Presence::required, "");
  const auto json_schema = make_json_schema(schema.info());
  const auto valid = [&](const char* text) { return json_is_valid(json_schema, to_json(yaml(text))); };
  EXPECT_TRUE(valid("{model: llama}"));
  EXPECT_TRUE(valid("{model: {base: llama}}"));
  EXPECT_TRUE(valid("{model: {base: llama, layers: 3}}"));
  EXPECT_TRUE(valid("{model: {layers: 3}}"));
  EXPECT_FALSE(valid("{model: {name: x}}"));
  EXPECT_FALSE(valid("{model: {base: llama, layer: 3}}"));
  EXPECT_FALSE(valid("{model: {base: llama, layers: 0}}"));
}

TEST(JsonSchema, AcceptsEveryShippedEntry) {
  const auto catalogue = models::Catalogue::built_in();
  for (const auto kind : models::all_entry_kinds) {
    const auto json_schema = make_json_schema(models::entry_info(kind));
    for (const auto& line : catalogue.list(kind)) {
      EXPECT_TRUE(json_is_valid(json_schema, to_json(catalogue.find(kind, line.name)))) << line.name;
    }
  }
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
