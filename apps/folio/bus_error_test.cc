#include "folio/bus_error.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "engine/session.h"
#include "formats/mapped_file.h"
#include "support/tiny_model.h"

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

// Takes the file of a loaded model away before its first step.
void ComputeBeyondTheCut() {
  ReportBusErrors();
  const std::string path = testing::TempDir() + "folio_cut_model_" + std::to_string(getpid());
  if (!WriteTinyModel(TinyModelSpec{}, path)) std::exit(1);
  const auto model = LoadedModel::Load(path, {.threads = 2});
  std::filesystem::resize_file(path, 0);
  std::filesystem::remove(path);
  if (!model) std::exit(1);
  Session session(**model);
  const TokenId token = 5;
  std::exit(session.Append({&token, 1}) ? 0 : 1);
}

TEST(BusErrorTest, AModelThatShrinksBeforeItsFirstStepIsAnErrorAndNoCrash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ComputeBeyondTheCut(), testing::ExitedWithCode(3), "became shorter");
}

TEST(BusErrorTest, AFileThatShrinksIsAnErrorAndNoCrash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ReadBeyondTheCut(), testing::ExitedWithCode(3), "became shorter");
}

}  // namespace
}  // namespace folio
