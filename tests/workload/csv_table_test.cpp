// Columns of a table by their names.
#include "models/workload/csv_table.h"

#include <gtest/gtest.h>

#include <array>

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr std::array<std::string_view, 1> kWanted{"b"};
constexpr std::array<std::string_view, 2> kOptional{"a", "z"};

TEST(CsvTables, AnOptionalColumnThatIsMissingHasNoText) {
  LineReader lines = LineReader::from_text("t.csv", "a,x,b\n1,2, 3\n");
  CsvTable table(lines, kWanted, kOptional);
  EXPECT_TRUE(table.has(0));
  EXPECT_TRUE(table.has(1));
  EXPECT_FALSE(table.has(2));
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.field(0).text, "3");
  EXPECT_EQ(table.field(1).text, "1");
  EXPECT_EQ(table.field(2).text, "");
  EXPECT_EQ(table.field(2).name, "z");
}

TEST(CsvTables, NoColumnMayBeThereTwiceNorAWantedOneBeMissing) {
  LineReader twice = LineReader::from_text("t.csv", "a,b,a\n");
  EXPECT_THROW(CsvTable(twice, kWanted, kOptional), schema::InputError);
  LineReader missing = LineReader::from_text("t.csv", "a,z\n");
  EXPECT_THROW(CsvTable(missing, kWanted, kOptional), schema::InputError);
  LineReader others = LineReader::from_text("t.csv", "b,x,x\n");
  EXPECT_NO_THROW(CsvTable(others, kWanted, kOptional));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
