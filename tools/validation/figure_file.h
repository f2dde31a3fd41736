// A group of figures as its YAML file in figures/ has it. docs/validation.md describes the vocabulary.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "models/schema/config_node.h"
#include "models/schema/error.h"
#include "models/schema/object_schema.h"
#include "tools/validation/expression.h"
#include "tools/validation/figure.h"

namespace kvsim::validation {

/// Repeats what it belongs to: once for each row, with the columns as parameters.
struct TextTable {
  std::string columns;            ///< names between |
  std::vector<std::string> rows;  ///< cells between |
};

/// A simulation that figures refer to by name; parameters are named in brackets behind it.
struct RunText {
  std::string name, scenario, policy;
  std::vector<std::string> settings;  ///< as of --set; each may be empty or several between semicolons
  bool trace = false;
};

/// One of several runs, or the largest value at which something still holds.
struct ChoiceText {
  std::string name, varied;
  std::vector<std::string> among;
  std::vector<double> between;
  std::int64_t halvings = 0;
  bool logarithmic = false;
  std::string of, least, most, where;
};

/// A name for an expression.
struct TermText {
  std::string name, is;
};

struct FigureText {
  std::optional<TextTable> repeat;
  std::string id, what;
  std::vector<std::string> when;
  std::string expected, below, simulated;
  std::vector<double> within;
  std::optional<std::string> source, unit, tolerance, aim;
  std::optional<Measure> measure;
  std::optional<Claim> claim;
  std::vector<std::string> assumptions;
  std::string skipped, skipped_where;
};

struct SectionText {
  std::optional<TextTable> repeat;
  std::string rows_of;
  std::vector<std::string> needs;
  std::string source, unit, tolerance, aim;
  Measure measure = Measure::relative;
  Claim claim = Claim::about;
  std::vector<std::string> assumptions;
  std::string order;
  std::vector<FigureText> figures;
};

/// Names that expressions may refer to beside probes.
struct Vocabulary {
  std::string scenario;  ///< of runs that name none
  std::vector<RunText> runs;
  std::vector<ChoiceText> choices;
  std::vector<TermText> terms;
  Parameters constants;         ///< parameters that are known everywhere
  schema::ConfigNode document;  ///< where everything was written
  /// Where the entries came from that stand behind the document's own; null: there are none.
  std::shared_ptr<const Vocabulary> shared;

  /// Where a dotted path was written; of what is not, what is around it.
  [[nodiscard]] schema::Origin origin_of(const std::string& path) const;
  /// Appends the entries of another one.
  void share(std::shared_ptr<const Vocabulary> more);
};

struct FigureFile : Vocabulary {
  std::string description;
  std::vector<SectionText> sections;
};

/// Result of `action`. An error of an expression at a dotted path of the file is reported where it was written, or
/// where what is around it was.
template <class Action>
std::invoke_result_t<const Action&> located(const Vocabulary& file, const std::string& path, const Action& action) {
  try {
    return action();
  } catch (const ExpressionError& e) {
    throw schema::InputError(file.origin_of(path), path, e.what());
  }
}

schema::ObjectSchema<TextTable> table_schema();
schema::ObjectSchema<RunText> run_schema();
schema::ObjectSchema<ChoiceText> choice_schema();
schema::ObjectSchema<TermText> term_schema();

/// Refuses a run, choice or term whose name another one has, whatever their parameters.
void check_names(const Vocabulary& file, const schema::Reporter& report);

/// The keys that declare a vocabulary, of a file that has one.
template <class File>
void add_vocabulary(schema::ObjectSchema<File>& s) {
  constexpr auto kOptional = schema::Presence::optional;
  s.optional("scenario", static_cast<std::string File::*>(&Vocabulary::scenario), schema::text(),
             "of runs that name none, a path in the repository");
  s.list("runs", static_cast<std::vector<RunText> File::*>(&Vocabulary::runs), run_schema(), kOptional,
         "what is simulated");
  s.list("choices", static_cast<std::vector<ChoiceText> File::*>(&Vocabulary::choices), choice_schema(), kOptional,
         "runs chosen among several");
  s.list("terms", static_cast<std::vector<TermText> File::*>(&Vocabulary::terms), term_schema(), kOptional,
         "names for expressions");
  s.check([](const File& file, const schema::Reporter& report) { check_names(file, report); });
}

/// The parameters of each row of a table. Throws schema::InputError at `path` where one has other cells than columns.
std::vector<Parameters> rows_of(const Vocabulary& file, const std::string& path, const TextTable& table);

/// Throws schema::InputError.
FigureFile read_figure_file(std::string_view text, const std::string& source_name);

}  // namespace kvsim::validation
