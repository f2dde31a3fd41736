// Real results of the command line with members deleted and replaced: whatever is left of them becomes a page.
#include <random>

#include "models/schema/error.h"
#include "tests/cli/workspace.h"
#include "tests/report/documents.h"
#include "tests/report/page.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

using Words = std::vector<std::string>;

/// Every value of a document.
void collect(Json& json, std::vector<Json*>& out) {
  out.push_back(&json);
  for (auto& element : json) {
    if (json.is_structured()) collect(element, out);
  }
}

Json junk(std::mt19937_64& random) {
  static const std::vector<Json> kinds{Json(),
                                       Json(-1),
                                       Json(0),
                                       Json(1e308),
                                       Json(5e-324),
                                       Json(0.5),
                                       Json("text"),
                                       Json(""),
                                       Json("</script>"),
                                       Json::array(),
                                       Json::object(),
                                       Json(true),
                                       Json({1, 2}),
                                       Json({{"a", {1}}}),
                                       Json({nullptr, "x"}),
                                       Json({{"x", 1}}),
                                       Json(-1e308),
                                       Json("1/s"),
                                       Json(18446744073709551615U)};
  return kinds[random() % kinds.size()];
}

/// Few changes, so that most of the document is still read.
Json mutated(Json document, std::mt19937_64& random) {
  const std::size_t changes = 1 + random() % 6;
  for (std::size_t i = 0; i < changes; ++i) {
    std::vector<Json*> values;
    collect(document, values);
    // What lies near the root is rare among all values, and matters most.
    std::vector<Json*> holders;
    for (Json* v : values) {
      if (v->is_structured() && !v->empty()) holders.push_back(v);
    }
    if (holders.empty()) break;
    Json& holder =
        *holders[random() % (random() % 2 == 0 ? holders.size() : std::min<std::size_t>(holders.size(), 24))];
    const std::size_t at = random() % holder.size();
    if (holder.is_object()) {
      const std::string key = std::next(holder.begin(), static_cast<std::ptrdiff_t>(at)).key();
      if (random() % 3 == 0) {
        holder.erase(key);
      } else {
        holder[key] = junk(random);
      }
    } else if (random() % 3 == 0) {
      holder.erase(at);
    } else {
      holder[at] = junk(random);
    }
  }
  return document;
}

void expect_whole(const Page& report, const std::string& what) {
  const std::string html = to_html(report);
  EXPECT_EQ(page_fault(html), "") << what;
  for (const char* number : {"\"nan\"", "\"-nan\"", "\"inf\"", "\"-inf\"", "=\"nan", ",nan", "NaN"}) {
    const std::string page = html.substr(0, html.find("<script>"));
    EXPECT_EQ(page.find(number), std::string::npos) << number << " " << what;
  }
  for (const Section& s : report.sections) {
    for (const Block& b : s.blocks) {
      const auto* table = std::get_if<Table>(&b);
      if (const auto* plot = std::get_if<Plot>(&b)) table = &plot->data;
      if (!table) continue;
      for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->align.size()) << table->title << what;
    }
  }
  EXPECT_FALSE(to_markdown(report).empty());
  EXPECT_FALSE(summary(report).title.empty());
  (void)to_csv(report);
}

class Garbage : public test::Workspace {
 protected:
  /// The real one, and many that are broken.
  void expect_pages_of(const Words& command, std::uint64_t seed) {
    write("s.yaml", test::tiny_scenario());
    const test::CommandResult r = run(command);
    ASSERT_EQ(r.status, 0) << r.err;
    const Json real = Json::parse(r.out);
    ASSERT_NE(kind_of(real, ""), Kind::other);
    expect_whole(report_of({real}), "the real one");
    std::mt19937_64 random(seed);
    constexpr int rounds = KVSIM_SANITIZED ? 15 : 150;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      const Json broken = mutated(real, random);
      const std::string what = "round " + std::to_string(round);
      try {
        Inputs inputs;
        inputs.add(broken, "broken");
        expect_whole(make_report(inputs), what);
      } catch (const schema::InputError&) {  // not a result any more: said so
      } catch (const std::exception& e) {
        ADD_FAILURE() << what << ": " << e.what();
      }
    }
  }
};

TEST_F(Garbage, OfARunBecomesAPage) {
  expect_pages_of({"run", "s.yaml", "--json"}, 1);
}

TEST_F(Garbage, OfAComparisonBecomesAPage) {
  expect_pages_of(
      {"compare", "s.yaml", "--policies", "full_kv,lossy,draft_verify", "--set", "run.duration=2 s", "--json"}, 2);
}

TEST_F(Garbage, OfAPlanBecomesAPage) {
  expect_pages_of({"plan", "s.yaml", "--explain", "--pareto", "--json"}, 3);
}

TEST_F(Garbage, OfASimulatedPlanBecomesAPage) {
  expect_pages_of({"plan", "s.yaml", "--simulate", "--json"}, 4);
}

TEST_F(Garbage, OfASweepBecomesAPage) {
  expect_pages_of(
      {"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--vary", "decode.keep_ratio=0.1,0.2", "--json"}, 5);
}

TEST_F(Garbage, OfASweepOverRatesBecomesAPage) {
  expect_pages_of(
      {"sweep", "s.yaml", "--set", "workload={arrivals: {rate: 1/s}, context: 8k tokens, output: 64 tokens}", "--vary",
       "workload.arrivals.rate=1/s,2/s", "--json"},
      6);
}

TEST_F(Garbage, OfACapacitySearchBecomesAPage) {
  write("c.yaml", R"(name: quick chat
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
workload:
  arrivals: {rate: 10/s}
  context: 500 tokens
  output: 20 tokens
prefill: recompute
decode: {policy: full_kv}
slo: {ttft_p99: 500 ms}
run: {duration: 10 s, warmup: 2 s, seed: 1}
)");
  expect_pages_of({"capacity", "c.yaml", "--attainment", "0.9", "--replications", "1", "--json"}, 7);
}

TEST_F(Garbage, OfFiguresThatHaveNoSectionBecomesAPage) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    Json document = {{"schema_version", 1}, {"a", {{"b", {{{"c", 1}, {"d", "x"}}, {{"c", 2}}}}}}, {"e", {1, 2}}};
    document = mutated(document, random);
    document["schema_version"] = 1;
    if (!document.is_object()) continue;
    expect_whole(report_of({document}), "round " + std::to_string(round));
  }
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
