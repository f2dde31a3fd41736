// Every JSON document is as `kvsim schema --results` says, and every number that `kvsim list metrics` has is in one.
#include <nlohmann/json.hpp>

#include <map>

#include "tests/cli/workspace.h"
#include "tests/support/json_schema.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr const char* kSymbols =
    "{BW_hbm: 3.35 TB/s, BW_link: 55 GB/s, HBM: 80 GB, M: 16 GB, KV: 4.3 GB, KV_avg: 4.3 GB, L: 32k tokens, n: 256}\n";

class DocumentsTest : public Workspace {
 protected:
  DocumentsTest() {
    write("s.yaml", tiny_scenario());
    write("placed.yaml", placement_scenario());
    write("chunks.yaml", chunk_scenario());
  }

  Json json(const Words& words) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << words.at(0) << " " << r.err;
    return Json::parse(r.out, nullptr, false);
  }

  /// The documents of these commands are of that kind; returns numbers of its schema that none of them has.
  std::set<std::string> expect_kind(const std::string& kind, const std::vector<Words>& commands) {
    static const Json schema = Json::parse(run({"schema", "--results"}).out);
    const Json& own = schema["$defs"][kind];
    testing::SchemaWalk walk(schema);
    for (const Words& words : commands) walk.compare(own, json(words), kind);
    for (const std::string& violation : walk.found.violations) ADD_FAILURE() << violation;
    std::set<std::string> missing = testing::SchemaWalk::numbers_of(own);
    for (const std::string& number : walk.found.numbers) missing.erase(number);
    return missing;
  }

  void expect_whole_kind(const std::string& kind, const std::vector<Words>& commands) {
    for (const std::string& number : expect_kind(kind, commands))
      ADD_FAILURE() << kind << ": " << number << " is in no document";
  }
};

TEST_F(DocumentsTest, Runs) {
  expect_kind("run", {{"run", "s.yaml", "--json"}, {"run", "placed.yaml", "--json"}, {"run", "chunks.yaml", "--json"}});
}

TEST_F(DocumentsTest, Comparisons) {
  expect_whole_kind("comparison", {{"compare", "s.yaml", "--json"}, {"compare", "placed.yaml", "--json"}});
}

TEST_F(DocumentsTest, Sweeps) {
  expect_whole_kind("sweep", {{"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--json"},
                              {"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--shard", "1/2", "--json"}});
}

TEST_F(DocumentsTest, Plans) {
  expect_whole_kind("plan", {{"plan", "s.yaml", "--json"},
                             {"plan", "s.yaml", "--simulate", "--explain", "--pareto", "--replications", "2",
                              "--draft-length", "1:12", "--keep-ratio", "0.2,0.3", "--json"}});
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
