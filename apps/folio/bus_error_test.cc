#include "folio/bus_error.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "formats/mapped_file.h"

namespace folio {
namespace {

// Exits with the last byte of a file that was cut after it was mapped: there is no such byte.
void ReadBeyondTheCut() {
  ReportBusErrors();
  const std::string path = testing::TempDir() + "folio_cut_" + std::to_string(getpid());
  std::ofstream(path) << std::string(1 << 16, 'x');
  const auto file = MappedFile::Open(path);
  std::filesystem::resize_file(path, 0);
  std::filesystem::remove(path);
  std::exit(file ? static_cast<int>((*file)->bytes().back()) : 1);
}

TEST(BusErrorTest, AFileThatShrinksIsAnErrorAndNoCrash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ReadBeyondTheCut(), testing::ExitedWithCode(3), "became shorter");
}

}  // namespace
}  // namespace folio
