// A row declared once is the same row in JSON, CSV, tables and key figures.
#include <gtest/gtest.h>

#include "tools/results/fields.h"

namespace kvsim::results::KVSIM_FILE {
namespace {

std::vector<std::string> texts(const std::vector<page::Cell>& row) {
  std::vector<std::string> texts;
  for (const page::Cell& cell : row) texts.push_back(cell.text);
  return texts;
}

struct Machine {
  std::string name;
  std::int64_t batch = 0;
  double step_s = kNone;
  std::optional<double> gain;
  bool hidden = false;
};

const Fields<Machine> kFields{
    {"gpu", {kText, "name of the machine"}, "GPU", &Machine::name, Align::left},
    {"batch", {kRequests, kHigher, "requests at once"}, "requests", &Machine::batch},
    {"step_s", {kSeconds, kLower, "length of a step"}, "step", &Machine::step_s, {}, "", "of decoding", "nothing fits"},
    {"gain?", {kShare, kHigher, "over another machine"}, "gain", &Machine::gain},
    {kOnPages, "twice", [](const Machine& m) { return 2 * m.batch; }},
    {"hidden", {kTruth, "whether nobody sees it"}, &Machine::hidden}};

const Machine kFull{"a100", 1200, 0.0172, 0.5, true};
const Machine kEmpty{"l4", 0, kNone, std::nullopt, false};

TEST(Fields, AnObjectHasTheKeysInOrderAndLeavesOutWhatIsOptionalAndNotThere) {
  EXPECT_EQ(object(kFields, kFull).dump(), R"({"gpu":"a100","batch":1200,"step_s":0.0172,"gain":0.5,"hidden":true})");
  EXPECT_EQ(object(kFields, kEmpty).dump(), R"({"gpu":"l4","batch":0,"step_s":null,"hidden":false})");
}

TEST(Fields, WordsOfALineOfCsvAreQuotedAndNoFormula) {
  EXPECT_EQ(csv_text(Json("fp8, KV fp8")), "\"fp8, KV fp8\"");
  EXPECT_EQ(csv_text(Json("=1+1")), "'=1+1");
  EXPECT_EQ(csv_text(Json("a100")), "a100");
}

TEST(Fields, ASectionKeepsTheReasonsOfNullsAlsoWithinObjects) {
  Json reasons = Json::object();
  EXPECT_TRUE(filled(Section("m", reasons), kFields, kEmpty).take()["step_s"].is_null());
  EXPECT_EQ(reasons.dump(), R"({"m.step_s":"nothing fits"})");

  const Fields<Machine> nested{
      {"inner", {kObject, "the same below"}, [](const Machine& m) { return object(kFields, m); }, "no figure"}};
  reasons = Json::object();
  EXPECT_EQ(filled(Section("", reasons), nested, kEmpty).take()["inner"]["batch"], 0);
  EXPECT_EQ(reasons.dump(), R"({"inner.step_s":"no figure"})");

  reasons = Json::object();
  (void)filled(Section("m", reasons), kFields, kEmpty, "cannot run");
  EXPECT_EQ(reasons.dump(), R"({"m.step_s":"cannot run"})");
}

std::vector<std::string> paths(const KeyList& keys) {
  std::vector<std::string> paths;
  for (const Key& key : keys) paths.push_back(key.path + (key.optional ? "?" : ""));
  return paths;
}

struct Rack {
  std::vector<Machine> machines;
  std::optional<Machine> spare;
  std::vector<std::pair<std::string, Machine>> named;
};

const Fields<Machine> kName{{"gpu", {kText, "name of the machine"}, &Machine::name},
                            {"step_s", {kSeconds, "length of a step"}, &Machine::step_s, "nothing fits"}};
const Fields<Rack> kRack{Field<Rack>::list("machines", "all of them", &Rack::machines, kName),
                         Field<Rack>::part("spare", "the one that waits", &Rack::spare, kName, "all are needed"),
                         Field<Rack>::by_name("named?", "by name", &Rack::named, kName),
                         Field<Rack>::values("batches[]", {kRequests, "of each"},
                                             [](const Rack& r) {
                                               Json all = Json::array();
                                               for (const Machine& m : r.machines) all.push_back(m.batch);
                                               return all;
                                             }),
                         Field<Rack>::by_name("*", "by name, too", &Rack::named, kName)};

TEST(Fields, PartsListsAndNamesListWhatIsBelowThem) {
  EXPECT_EQ(paths(keys_of(kRack)),
            (std::vector<std::string>{"machines", "machines[].gpu", "machines[].step_s", "spare", "spare.gpu",
                                      "spare.step_s", "named?", "named.*.gpu", "named.*.step_s", "batches", "batches[]",
                                      "*.gpu", "*.step_s"}));
}

TEST(Fields, PartsListsAndNamesKeepReasonsByPath) {
  Json reasons = Json::object();
  const Rack rack{{kFull, kEmpty}, std::nullopt, {{"b", kEmpty}}};
  const Json written = filled(Section("", reasons), kRack, rack).take();
  EXPECT_EQ(written.dump(), R"({"machines":[{"gpu":"a100","step_s":0.0172},{"gpu":"l4","step_s":null}],"spare":null,)"
                            R"("named":{"b":{"gpu":"l4","step_s":null}},"batches":[1200,0],)"
                            R"("b":{"gpu":"l4","step_s":null}})");
  EXPECT_EQ(reasons.dump(), R"({"machines.1.step_s":"nothing fits","spare":"all are needed",)"
                            R"("named.b.step_s":"nothing fits","b.step_s":"nothing fits"})");
}

TEST(Fields, ALineOfCsvHasTheSameKeysAndNothingForNull) {
  const Fields<Machine> fields = without(kFields, {"gain"});
  EXPECT_EQ(csv(fields, std::vector{kFull, kEmpty}), "gpu,batch,step_s,hidden\na100,1200,0.0172,1\nl4,0,,0\n");
}

TEST(Fields, ATableShowsWhatHasAHeadingInItsWords) {
  const Table t = table_of("Machines", kFields, std::vector{kFull, kEmpty});
  EXPECT_EQ(t.header, (std::vector<std::string>{"GPU", "requests", "step", "gain", "twice"}));
  EXPECT_EQ(t.align.front(), Align::left);
  EXPECT_EQ(t.align.back(), Align::right);
  EXPECT_EQ(texts(t.rows[0]), (std::vector<std::string>{"a100", "1,200", "17.2 ms", "50.0 %", "2,400"}));
  EXPECT_EQ(texts(t.rows[1]), (std::vector<std::string>{"l4", "0", "-", "-", "0"}));
}

TEST(Fields, UprightARowIsKeyFiguresWithTheirRemarks) {
  const Table t = figures_of("Machine", kFields, kFull);
  EXPECT_EQ(texts(t.rows[2]), (std::vector<std::string>{"step", "17.2 ms", "", "of decoding"}));
  EXPECT_EQ(t.rows.size(), 5U);
}

TEST(Fields, EverySecondRowAndTheLastRemain) {
  Table t{"", {"k"}, {Align::right}, {{"1"}, {"2"}, {"3"}, {"4"}}};
  thin_out(t);
  ASSERT_EQ(t.rows.size(), 3U);
  EXPECT_EQ(texts(t.rows[0]), std::vector<std::string>{"1"});
  EXPECT_EQ(texts(t.rows[1]), std::vector<std::string>{"3"});
  EXPECT_EQ(texts(t.rows[2]), std::vector<std::string>{"4"});
}

}  // namespace
}  // namespace kvsim::results::KVSIM_FILE
