// Files of serving points that somebody measured.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/backtest/serving_point.h"

namespace kvsim::planner::backtest {

/// The names of all columns.
std::vector<std::string_view> point_columns();

/// "COLUMN=TEXT". Throws schema::InputError with the nearest column.
std::pair<std::string, std::string> parse_given(std::string_view assignment);

/// Reads a CSV file with a header (columns are found by name, others passed over), or, where its name ends with .json,
/// what `vllm bench serve --save-result` wrote: one point. A folder, a file whose name ends with .jsonl and a CSV file
/// with first_token_s are a recording (recording.h), one point; a folder's meta.json says what served. `given` counts
/// where a file lacks a column, or a row leaves it empty. Throws schema::InputError with file, line and column for what
/// is missing, no number or out of range.
std::vector<ServingPoint> read_points(const std::string& path, const Given& given = {});

/// Reads from memory; `name` stands for the file's.
std::vector<ServingPoint> read_points_text(std::string_view text, const std::string& name, const Given& given = {});

/// Recordings are called by their folder or file. Where several of that name are among the points, by their paths.
void tell_recordings_apart(std::vector<ServingPoint>& points);

}  // namespace kvsim::planner::backtest
