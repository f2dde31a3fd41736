// Every complaint says where, what is wrong and what was expected: the exact words are the contract.
#include <gtest/gtest.h>

#include "models/schema/not_modelled.h"
#include "models/schema/object_schema.h"
#include "tests/schema/cluster_example.h"
#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

/// The complaint about a document with `line` added to the least that is valid.
std::string complaint(std::string_view line) {
  const std::string text = "memory: 80 GiB\narrivals: {closed: 1}\n" + std::string(line);
  return error_of([&] { return example::cluster_schema().parse(yaml(text)); });
}

std::string complaint_about(std::string_view text) {
  return error_of([&] { return example::cluster_schema().parse(yaml(text)); });
}

TEST(SchemaErrors, TheLeastThatIsValidIsValid) {
  EXPECT_EQ(complaint(""), "no error");
}

TEST(SchemaErrors, AMisspeltKeyNamesTheNearest) {
  EXPECT_EQ(complaint("  \npolciy: fcfs"),
            "test.yaml:4:1: unknown key \"polciy\" of cluster; did you mean \"policy\"?");
  EXPECT_EQ(complaint("window: {lenght: 3}"),
            "test.yaml:3:10: window: unknown key \"lenght\" of window; did you mean \"length\"?");
}

TEST(SchemaErrors, AnUnknownKeyListsTheValidOnes) {
  EXPECT_EQ(complaint("window: {colour: 3}"),
            "test.yaml:3:10: window: unknown key \"colour\" of window; expected length");
}

TEST(SchemaErrors, AKeyOfAMapBelowNamesItsPlace) {
  EXPECT_EQ(complaint("length: 3"),
            "test.yaml:3:1: unknown key \"length\" of cluster; did you mean \"window.length\"?");
}

TEST(SchemaErrors, WhatPeopleLookForAndIsNotModelledIsSaidToBeListed) {
  for (const std::string word : {"disaggregated", "LoRA", "beam-width", "adapters", "swap_space"}) {
    EXPECT_TRUE(is_not_modelled(word)) << word;
    EXPECT_EQ(complaint("window: {" + word + ": 3}"),
              "test.yaml:3:10: window: unknown key \"" + word +
                  "\" of window; docs/overview.md lists what is not modelled, and what to use instead");
  }
  EXPECT_FALSE(is_not_modelled("colour"));
}

TEST(SchemaErrors, OptionsOfEnginesNameTheKeyThatTheyAreHere) {
  for (const auto& [word, said] :
       {std::pair<std::string, std::string>{"max_num_seqs", "vLLM's max_num_seqs is schedule.max_requests here"},
        {"mem-fraction-static", "SGLang's mem-fraction-static is cluster.gpu.memory_fraction here"},
        {"tp", "tp is cluster.gpu.tensor_parallel here"}}) {
    EXPECT_EQ(complaint("window: {" + word + ": 3}"),
              "test.yaml:3:10: window: unknown key \"" + word + "\" of window; " + said);
  }
  EXPECT_EQ(key_of_engine_option("GPU-memory-utilization"), "cluster.gpu.memory_fraction");
  EXPECT_EQ(key_of_engine_option("colour"), "");
}

TEST(SchemaErrors, AMissingKeyIsReportedAtItsParent) {
  EXPECT_EQ(complaint_about("name: x\narrivals: {closed: 1}\n"),
            "test.yaml:1:1: missing key \"memory\" of cluster, expected a size in bytes such as 80 GiB");
  EXPECT_EQ(complaint("storage:\n  - {name: ssd}"),
            "test.yaml:4:5: storage.0: missing key \"read\" of storage, expected a bandwidth such as 64 GB/s");
}

TEST(SchemaErrors, AKeyWithoutAValueIsAMistake) {
  EXPECT_EQ(complaint("deadline:\n"), "test.yaml:3:1: deadline: has no value, expected a time such as 25 ms");
}

TEST(SchemaErrors, AMisspeltWordNamesTheNearest) {
  EXPECT_EQ(complaint("policy: lockstep"),
            "test.yaml:3:9: policy: unknown value \"lockstep\"; did you mean \"lock_step\"?");
  EXPECT_EQ(complaint("policy: best"),
            "test.yaml:3:9: policy: unknown value \"best\"; expected one of fcfs, lock_step, staggered");
  EXPECT_EQ(complaint("verbose: yes"), "test.yaml:3:10: verbose: expected true or false, found \"yes\"");
}

TEST(SchemaErrors, AWrongQuantitySaysWhatWasExpected) {
  EXPECT_EQ(
      complaint("deadline: 5"),
      "test.yaml:3:11: deadline: expected a time with its unit (s, ms, us, ns, min, h), found the bare number \"5\"");
  EXPECT_EQ(complaint("deadline: 5 GB"),
            "test.yaml:3:11: deadline: expected a time such as \"25 ms\", but \"5 GB\" is a size in bytes");
  EXPECT_EQ(complaint("offloaded: most"),
            "test.yaml:3:12: offloaded: expected a whole number such as \"25\", found \"most\" (or all)");
  EXPECT_EQ(complaint("memory_fraction: \"0.9\""),
            "test.yaml:3:18: memory_fraction: expected a number such as 0.2, found the text \"0.9\" in quotes");
}

TEST(SchemaErrors, AValueOutOfRangeSaysTheRange) {
  EXPECT_EQ(complaint("memory_fraction: 1.5"), "test.yaml:3:18: memory_fraction: must be > 0 and <= 1, found 1.5");
  EXPECT_EQ(complaint("deadline: 0 ms"), "test.yaml:3:11: deadline: must be > 0 s, found 0 ms");
  EXPECT_EQ(complaint("offloaded: 3000000000"), "test.yaml:3:12: offloaded: 3000000000 is out of range");
}

TEST(SchemaErrors, AWrongKindOfNodeSaysWhatWasFound) {
  EXPECT_EQ(complaint("deadline: [1 s]"), "test.yaml:3:11: deadline: expected a time such as 25 ms, found a list");
  EXPECT_EQ(complaint("window: 128"), "test.yaml:3:9: window: expected a map with the keys of window, found \"128\"");
  EXPECT_EQ(complaint("storage: ssd"), "test.yaml:3:10: storage: expected a list, each item a map, found \"ssd\"");
  EXPECT_EQ(complaint("ratios: [0.1, [0.2]]"), "test.yaml:3:15: ratios.1: expected a number such as 0.2, found a list");
  EXPECT_EQ(
      complaint("price: [2 USD/h]"),
      "test.yaml:3:8: price: expected a price such as 2.5 USD/h, or a map of value, source and reference, found a "
      "list");
}

TEST(SchemaErrors, AListOfTheWrongLengthSaysBoth) {
  EXPECT_EQ(complaint("storage: [{name: a, read: 1 B/s}, {name: b, read: 1 B/s}, {name: c, read: 1 B/s}]"),
            "test.yaml:3:10: storage: expected at most 2 items, found 3");
}

TEST(SchemaErrors, AlternativesExcludeEachOther) {
  EXPECT_EQ(
      complaint_about("memory: 1 GB\narrivals: {closed: 1, rate: 1/s}"),
      "test.yaml:2:23: arrivals: \"closed\" and \"rate\" exclude each other, expected exactly one of rate, closed");
  EXPECT_EQ(complaint_about("memory: 1 GB\narrivals: {}"),
            "test.yaml:2:11: arrivals: expected exactly one of rate, closed");
}

TEST(SchemaErrors, ASourceNeedsItsReference) {
  EXPECT_EQ(complaint("price: {value: 2 USD/h, source: datasheet}"),
            "test.yaml:3:8: price: missing key \"reference\", expected the document or the way of measuring behind "
            "\"source: datasheet\"");
  EXPECT_EQ(
      complaint("price: {value: 2 USD/h, source: rumour, reference: x}"),
      "test.yaml:3:33: price.source: unknown value \"rumour\"; expected one of datasheet, publication, measurement, "
      "derived, assumption, scenario");
  EXPECT_EQ(complaint("price: {value: 2, source: scenario}"),
            "test.yaml:3:16: price.value: expected a price with its unit (USD/h), found the bare number \"2\"; write "
            "\"2 USD/h\"");
}

TEST(SchemaErrors, ACheckOverSeveralFieldsPointsAtTheField) {
  EXPECT_EQ(complaint("storage:\n  - {name: a, read: 1 B/s}\n  - {name: a, read: 1 B/s}"),
            "test.yaml:5:12: storage.1.name: a second device of this name");
}

TEST(SchemaErrors, ALongTextIsClipped) {
  const std::string message = complaint("deadline: " + std::string(10'000, 'x'));
  EXPECT_LT(message.size(), 200U);
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
