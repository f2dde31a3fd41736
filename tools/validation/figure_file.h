// A group of figures as its YAML file in figures/ has it. docs/validation.md describes the vocabulary.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "models/schema/config_node.h"
#include "models/schema/error.h"
#include "tools/validation/expression.h"
#include "tools/validation/group.h"

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
  std::optional<std::string> source, unit, tolerance;
  std::optional<Measure> measure;
  std::optional<Claim> claim;
  std::vector<std::string> assumptions;
  std::string skipped, skipped_where;
};

struct SectionText {
  std::optional<TextTable> repeat;
  std::string rows_of;
  std::vector<std::string> needs;
  std::string source, unit, tolerance;
  Measure measure = Measure::relative;
  Claim claim = Claim::about;
  std::vector<std::string> assumptions;
  std::string order;
  std::vector<FigureText> figures;
};

struct FigureFile {
  std::string description, scenario;
  std::vector<RunText> runs;
  std::vector<ChoiceText> choices;
  std::vector<TermText> terms;
  std::vector<SectionText> sections;
  schema::ConfigNode document;  ///< where everything was written
};

/// What an expression at a dotted path of the file has wrong is said where it was written, or where what is around it
/// was.
template <class Action>
std::invoke_result_t<const Action&> located(const FigureFile& file, const std::string& path, const Action& action) {
  try {
    return action();
  } catch (const ExpressionError& e) {
    const schema::ConfigNode* at = file.document.find_path(path);
    if (at == nullptr) at = file.document.find_path(path.substr(0, path.rfind('.')));
    throw schema::InputError(at->origin(), path, e.what());
  }
}

/// Throws schema::InputError.
FigureFile read_figure_file(std::string_view text, const std::string& source_name);

}  // namespace kvsim::validation
