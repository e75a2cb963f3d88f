// Puts a row of SRC lanes into memories of DST lanes. The row is cut into chunks of DST lanes;
// chunk `chunk` is turned by `rot` lanes. Lane k is written where `valid`; where `wrap`, the word
// belongs to the next group of DST channels.
module regroup #(parameter int SRC = 4, parameter int DST = 5, parameter int BITS = 16) (
  input  logic [SRC*BITS-1:0] row,
  input  logic [15:0]         chunk,
  input  logic [7:0]          rot,
  output logic [DST*BITS-1:0] data,
  output logic [DST-1:0]      valid,
  output logic [DST-1:0]      wrap);
  localparam int CHUNKS = (SRC + DST - 1) / DST;
  logic [CHUNKS*DST*BITS-1:0] padded;
  logic [CHUNKS*DST-1:0] present;
  logic [2*DST*BITS-1:0] twice;
  logic [2*DST-1:0] twice_present;
  always_comb begin
    padded = {CHUNKS*DST*BITS{1'b0}};
    padded[SRC*BITS-1:0] = row;
    present = {CHUNKS*DST{1'b0}};
    present[SRC-1:0] = {SRC{1'b1}};
    twice = {2*DST*BITS{1'b0}};
    twice_present = {2*DST{1'b0}};
    for (int q = 0; q < CHUNKS; q = q + 1) begin
      if (chunk == q[15:0]) begin
        twice = {2{padded[q*DST*BITS +: DST*BITS]}};
        twice_present = {2{present[q*DST +: DST]}};
      end
    end
    twice = twice << (rot * BITS);
    twice_present = twice_present << rot;
    data = twice[DST*BITS +: DST*BITS];
    valid = twice_present[DST +: DST];
    for (int k = 0; k < DST; k = k + 1) wrap[k] = k[7:0] < rot;
  end
endmodule
