#include "formats/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace folio {
namespace {

std::string TemporaryPath(const std::string& name) { return ::testing::TempDir() + name; }

TEST(MappedFileTest, TheBytesAreTheFiles) {
  const std::string path = TemporaryPath("folio_mapped_bytes");
  std::ofstream(path) << "hello";
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value()) << file.error().Message();
  const auto bytes = (*file)->bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "hello");
}

TEST(MappedFileTest, PagesThatWereLetGoComeBackWithTheSameBytes) {
  const std::string path = TemporaryPath("folio_mapped_let_go");
  std::ofstream(path) << std::string(100000, 'x') << "end";
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value()) << file.error().Message();
  const auto bytes = (*file)->bytes();
  (*file)->LetGo(bytes.subspan(5000));
  EXPECT_EQ(bytes[4999], std::byte{'x'});
  EXPECT_EQ(bytes.back(), std::byte{'d'});
}

TEST(MappedFileTest, ReadingPastTheMappingGivesTheSameBytes) {
  const std::string path = TemporaryPath("folio_mapped_read");
  std::ofstream(path) << std::string(100000, 'x') << "end";
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value()) << file.error().Message();
  std::string read(5, ' ');
  (*file)->WillRead(99998, read.size());
  ASSERT_TRUE((*file)->Read(99998, std::as_writable_bytes(std::span(read))).has_value());
  EXPECT_EQ(read, "xxend");
  EXPECT_TRUE((*file)->Read(100003, {}).has_value());
}

TEST(MappedFileTest, AFileThatBecameShorterIsAnErrorOfTheRead) {
  const std::string path = TemporaryPath("folio_mapped_shorter");
  std::ofstream(path) << std::string(10000, 'x');
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value()) << file.error().Message();
  std::filesystem::resize_file(path, 9000);
  std::string read(2000, ' ');
  const Status status = (*file)->Read(8000, std::as_writable_bytes(std::span(read)));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().Message(),
            path + ": byte 9000: the file became shorter while it was in use");
  EXPECT_TRUE((*file)->Read(7000, std::as_writable_bytes(std::span(read))).has_value());
}

TEST(MappedFileTest, AnEmptyFileHasNoBytes) {
  const std::string path = TemporaryPath("folio_mapped_empty");
  std::ofstream(path).close();
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.has_value()) << file.error().Message();
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST(MappedFileTest, WhatIsNoRegularFileIsRefused) {
  const auto refusal = [](const std::string& path) {
    const auto file = MappedFile::Open(path);
    if (file.has_value()) return std::string("opened");
    EXPECT_EQ(file.error().kind, ErrorKind::kInput);
    EXPECT_EQ(file.error().what, path);
    return file.error().why;
  };
  EXPECT_EQ(refusal(TemporaryPath("folio_mapped_missing")), "No such file or directory");
  EXPECT_EQ(refusal(::testing::TempDir()), "is a directory, not a file");
  EXPECT_EQ(refusal("/dev/null"), "is not a regular file");
  const std::string fifo = TemporaryPath("folio_mapped_fifo");
  ::unlink(fifo.c_str());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal(fifo), "is not a regular file");  // and does not wait for a writer
}

}  // namespace
}  // namespace folio
