cmake_minimum_required(VERSION 3.25)
# cmake -DWORK_DIR=dir -P check_layers_test.cmake
# A room that includes what it may passes check_layers.cmake; one that reaches up is refused, and the line says who and what.
function(check_room content expect_refusal)
  file(REMOVE_RECURSE ${WORK_DIR}/low)
  file(WRITE ${WORK_DIR}/low/a.cc "${content}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DROOM=low -DALLOWED=base -DROOMS=base,low,high -DSOURCES_DIR=${WORK_DIR}/low
            -P ${CMAKE_CURRENT_LIST_DIR}/check_layers.cmake
    RESULT_VARIABLE code ERROR_VARIABLE message)
  string(REGEX REPLACE "[ \n]+" " " message "${message}")
  if(expect_refusal AND (code EQUAL 0 OR NOT message MATCHES "room 'low'\\) may not include room 'high'"))
    message(FATAL_ERROR "a bad include passed: ${content}${message}")
  elseif(NOT expect_refusal AND NOT code EQUAL 0)
    message(FATAL_ERROR "an allowed include was refused: ${content}${message}")
  endif()
endfunction()

check_room("#include \"base/error.h\"\n#include \"low/a.h\"\n#include <vector>\n" FALSE)
check_room("#include \"base/error.h\"\n#include \"high/engine.h\"\n" TRUE)
check_room("#  include \"high/engine.h\"\n" TRUE)
check_room("  #include \"high/engine.h\"\n" TRUE)
check_room("#include <high/engine.h>\n" TRUE)
