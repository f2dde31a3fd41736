#include "tools/validation/figure_file.h"

#include <fmt/format.h>
#include <set>

#include "models/schema/yaml.h"

namespace kvsim::validation {
namespace {

using schema::Presence;
using schema::text;

constexpr auto kOptional = Presence::optional;

schema::ScalarSpec expression() {
  return text().non_empty();
}

schema::ScalarSpec measures() {
  return schema::choice<Measure>({{"relative", Measure::relative, "(simulated - expected) / |expected|"},
                                  {"absolute", Measure::absolute, "simulated - expected"}});
}

schema::ScalarSpec claims() {
  return schema::choice<Claim>({{"about", Claim::about, "within the tolerance"},
                                {"at_most", Claim::at_most, "no more than the tolerance above"},
                                {"none", Claim::none, "a prediction: nothing is published or measured"}});
}

}  // namespace

schema::ObjectSchema<TextTable> table_schema() {
  schema::ObjectSchema<TextTable> s("table", "Repeats what it belongs to, once for each row.");
  s.required("columns", &TextTable::columns, text().non_empty(), "names of parameters, between |");
  s.list("rows", &TextTable::rows, text(), Presence::required, "their values, between |", {1});
  return s;
}

schema::ObjectSchema<RunText> run_schema() {
  schema::ObjectSchema<RunText> s("run", "A simulation that figures refer to.");
  s.required("name", &RunText::name, text().non_empty(), "with its parameters in brackets, if it has any");
  s.optional("scenario", &RunText::scenario, text(), "path in the repository; left out: the file's");
  s.optional("policy", &RunText::policy, text(), "as of kvsim compare; left out: the scenario's");
  s.list("settings", &RunText::settings, text(), kOptional, "as of --set; each may be several between semicolons");
  s.optional("trace", &RunText::trace, schema::boolean(), "whether figures look at its timeline");
  return s;
}

schema::ObjectSchema<ChoiceText> choice_schema() {
  schema::ObjectSchema<ChoiceText> s("choice", "The best of several runs, or the largest value that will do.");
  s.required("name", &ChoiceText::name, text().non_empty(), "with its parameters in brackets, if it has any");
  s.required("varied", &ChoiceText::varied, text().non_empty(), "name of the parameter that is varied");
  s.list("among", &ChoiceText::among, text(), kOptional, "its values");
  s.list("between", &ChoiceText::between, schema::number(), kOptional, "one that will do, and one that may not",
         {2, 2});
  s.exclusive({"among", "between"});
  s.optional("halvings", &ChoiceText::halvings, schema::integer().non_negative(), "steps of the bisection");
  s.optional("logarithmic", &ChoiceText::logarithmic, schema::boolean(), "halves the ratio, not the difference");
  s.required("of", &ChoiceText::of, text().non_empty(), "the run that is chosen");
  s.optional("least", &ChoiceText::least, expression(), "what is to be small");
  s.optional("most", &ChoiceText::most, expression(), "what is to be large");
  s.at_most_one({"least", "most"});
  s.optional("where", &ChoiceText::where, expression(), "what has to hold; refused where it never does");
  s.check([](const ChoiceText& choice, const schema::Reporter& report) {
    if (choice.between.empty()) {
      if (choice.among.empty()) report.fail("among", "expected at least one value");
      if (choice.least.empty() && choice.most.empty()) report.fail("among", "expected least or most beside it");
    } else if (choice.logarithmic && !(choice.between[0] > 0 && choice.between[1] > 0)) {
      report.fail("between", "expected two positive numbers (logarithmic)");
    }
  });
  return s;
}

schema::ObjectSchema<TermText> term_schema() {
  schema::ObjectSchema<TermText> s("term", "A name for an expression.");
  s.required("name", &TermText::name, text().non_empty(), "with its parameters in brackets, if it has any");
  s.required("is", &TermText::is, expression(), "the expression");
  return s;
}

namespace {

schema::ObjectSchema<FigureText> figure_schema() {
  schema::ObjectSchema<FigureText> s("figure", "One published or measured figure.");
  s.object("for", &FigureText::repeat, table_schema(), kOptional, "one such figure for each row");
  s.required("id", &FigureText::id, text().non_empty(), "without the group");
  s.required("what", &FigureText::what, text().non_empty(), "in words; cut at 44 characters");
  s.list("when", &FigureText::when, text(), kOptional, "column: words, which the column of the row contains");
  s.optional("expected", &FigureText::expected, expression(), "the figure that was published or measured");
  s.optional("below", &FigureText::below, expression(), "only the order is published: this is the larger one");
  s.list("within", &FigureText::within, schema::number(), kOptional, "published as a range: low and high", {2, 2});
  s.at_most_one({"expected", "below", "within"});
  s.optional("simulated", &FigureText::simulated, expression(), "an expression over runs, terms and probes");
  s.optional("source", &FigureText::source, text(), "where the expected figure is from");
  s.optional("unit", &FigureText::unit, text(), "of expected and simulated");
  s.optional("tolerance", &FigureText::tolerance, expression(), "of the error, in its measure");
  s.optional("aim", &FigureText::aim, expression(), "what is wanted of the error, where the tolerance is what it is");
  s.optional("measure", &FigureText::measure, measures(), "what the error is");
  s.optional("claim", &FigureText::claim, claims(), "when the figure is met");
  s.list("assumptions", &FigureText::assumptions, text(), kOptional, "what is taken for granted, beside the section's");
  s.optional("skipped", &FigureText::skipped, text(), "why it is not judged");
  s.optional("skipped_where", &FigureText::skipped_where, expression(), "judged where this does not hold");
  return s;
}

schema::ObjectSchema<SectionText> section_schema() {
  schema::ObjectSchema<SectionText> s("section", "Figures that have most in common.");
  s.object("for", &SectionText::repeat, table_schema(), kOptional, "all its figures once for each row");
  s.optional("rows_of", &SectionText::rows_of, text(),
             "table of measured data whose columns are parameters: a figure for each row, the first whose words fit");
  s.list("needs", &SectionText::needs, text(), kOptional, "files or folders of measured data");
  s.optional("source", &SectionText::source, text(), "of figures that have none of their own");
  s.optional("unit", &SectionText::unit, text(), "of figures that have none of their own");
  s.optional("tolerance", &SectionText::tolerance, expression(), "of figures that have none of their own; else 0");
  s.optional("aim", &SectionText::aim, expression(), "of figures that have none of their own");
  s.optional("measure", &SectionText::measure, measures(), "of figures that have none of their own");
  s.optional("claim", &SectionText::claim, claims(), "of figures that have none of their own");
  s.list("assumptions", &SectionText::assumptions, text(), kOptional,
         "of all its figures; `all of PATH` stands for those of that scenario");
  s.optional("order", &SectionText::order, text(), "what is assumed of figures of which only an order is published");
  s.list("figures", &SectionText::figures, figure_schema(), Presence::required, "in the order of the report", {1});
  s.check([](const SectionText& section, const schema::Reporter& report) {
    for (std::size_t i = 0; i < section.figures.size(); ++i) {
      const FigureText& f = section.figures[i];
      const bool expects = !f.expected.empty() || !f.below.empty() || !f.within.empty();
      if (expects != (f.claim.value_or(section.claim) == Claim::none)) continue;
      report.fail("figures." + std::to_string(i),
                  expects ? "a prediction (claim: none) expects nothing"
                          : "missing key \"expected\", \"below\" or \"within\", or claim: none of a prediction");
    }
  });
  return s;
}

schema::ObjectSchema<FigureFile> file_schema() {
  schema::ObjectSchema<FigureFile> s("figures", "A group of published or measured figures.");
  s.required("description", &FigureFile::description, text().non_empty(), "title of the group");
  add_vocabulary(s);
  s.list("sections", &FigureFile::sections, section_schema(), Presence::required, "the figures", {1});
  return s;
}

}  // namespace

schema::Origin Vocabulary::origin_of(const std::string& path) const {
  if (const schema::ConfigNode* at = document.find_path(path)) return at->origin();
  const auto dot = path.find('.');
  // Lists that share entries: those of the other document are counted on from this one's.
  if (shared && dot != std::string::npos) {
    const schema::ConfigNode* list = document.find_path(path.substr(0, dot));
    const std::size_t own = list == nullptr ? 0 : list->items().size();
    const std::size_t index = std::stoul(path.substr(dot + 1));
    if (index >= own) return shared->origin_of(path.substr(0, dot + 1) + std::to_string(index - own));
  }
  return dot == std::string::npos ? document.origin() : origin_of(path.substr(0, path.rfind('.')));
}

void Vocabulary::share(std::shared_ptr<const Vocabulary> more) {
  const auto append = [](auto& list, const auto& other) { list.insert(list.end(), other.begin(), other.end()); };
  append(runs, more->runs);
  append(choices, more->choices);
  append(terms, more->terms);
  constants.insert(more->constants.begin(), more->constants.end());
  if (scenario.empty()) scenario = more->scenario;
  shared = std::move(more);
}

FigureFile read_figure_file(std::string_view text, const std::string& source_name) {
  static const schema::ObjectSchema<FigureFile> schema = file_schema();
  schema::ConfigNode document = schema::read_yaml(text, source_name);
  FigureFile file = schema.parse(document);
  file.document = std::move(document);
  return file;
}

void check_names(const Vocabulary& file, const schema::Reporter& report) {
  std::set<std::string> names;
  const auto check = [&](const char* list, const auto& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string name = entries[i].name.substr(0, entries[i].name.find('('));
      if (names.insert(name).second) continue;
      report.fail(fmt::format("{}.{}.name", list, i), fmt::format("\"{}\" is the name of another entry", name));
    }
  };
  check("runs", file.runs);
  check("choices", file.choices);
  check("terms", file.terms);
}

std::vector<Parameters> rows_of(const Vocabulary& file, const std::string& path, const TextTable& table) {
  const std::vector<std::string> columns = split(table.columns, '|');
  std::vector<Parameters> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<std::string> cells = split(table.rows[r], '|');
    if (cells.size() != columns.size()) {
      const std::string at = fmt::format("{}.rows.{}", path, r);
      throw schema::InputError(
          file.origin_of(at), at,
          fmt::format("the row has {} cells, expected one for each of {}", cells.size(), table.columns));
    }
    Parameters& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

}  // namespace kvsim::validation
