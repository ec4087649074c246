#include "textflag.h"

// func aboveAVX2(q *float32, d int, blocks *float32, n int, least float32) (at int, mask uint32)
//
// A block is d rows of 32 lanes; four registers of 8 lanes sum q[k] x row k.
TEXT ·aboveAVX2(SB), NOSPLIT, $0-52
	MOVQ         q+0(FP), SI
	MOVQ         d+8(FP), R10
	MOVQ         blocks+16(FP), DI
	MOVQ         n+24(FP), DX
	VBROADCASTSS least+32(FP), Y15
	XORQ         AX, AX

block:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	MOVQ   SI, R8
	MOVQ   R10, CX

coordinate:
	VBROADCASTSS (R8), Y4
	VFMADD231PS  (DI), Y4, Y0
	VFMADD231PS  32(DI), Y4, Y1
	VFMADD231PS  64(DI), Y4, Y2
	VFMADD231PS  96(DI), Y4, Y3
	ADDQ         $4, R8
	ADDQ         $128, DI
	DECQ         CX
	JNZ          coordinate

	// Does the largest of the 32 reach least (13: greater or equal)?
	VMAXPS    Y0, Y1, Y5
	VMAXPS    Y2, Y3, Y6
	VMAXPS    Y5, Y6, Y5
	VCMPPS    $13, Y15, Y5, Y5
	VMOVMSKPS Y5, R9
	TESTL     R9, R9
	JNZ       found
	INCQ      AX
	CMPQ      AX, DX
	JLT       block
	MOVL      $0, mask+48(FP)
	MOVQ      AX, at+40(FP)
	VZEROUPPER
	RET

found:
	VCMPPS    $13, Y15, Y0, Y0
	VCMPPS    $13, Y15, Y1, Y1
	VCMPPS    $13, Y15, Y2, Y2
	VCMPPS    $13, Y15, Y3, Y3
	VMOVMSKPS Y0, R9
	VMOVMSKPS Y1, R11
	VMOVMSKPS Y2, R12
	VMOVMSKPS Y3, R13
	SHLL      $8, R11
	SHLL      $16, R12
	SHLL      $24, R13
	ORL       R11, R9
	ORL       R12, R9
	ORL       R13, R9
	MOVL      R9, mask+48(FP)
	MOVQ      AX, at+40(FP)
	VZEROUPPER
	RET
